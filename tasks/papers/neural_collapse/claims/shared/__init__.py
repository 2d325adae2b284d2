"""Rules and figures that several claims of this paper share; a file holds the rule and the figure of one topic."""
