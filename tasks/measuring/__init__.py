"""Code that experiments of several papers share: finished training runs, layers in the graph, counterexamples."""
