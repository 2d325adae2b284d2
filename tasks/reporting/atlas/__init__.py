"""The atlas in words: what each law says, and the sentences on what was found."""
