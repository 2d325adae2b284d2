"""Rules and figures that several claims of this paper share."""
