"""Who wins where: the atlas's table, judged."""
