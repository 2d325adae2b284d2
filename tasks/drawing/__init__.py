"""Drawing: the style of all figures, and the figures that claims of several papers share."""
