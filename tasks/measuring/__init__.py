"""What experiments of several papers need: finished training runs, layers in the graph, counterexamples."""
