"""On data with eigenvalues 1/(1 + k²), the centered NFA is more robust to the initial scale s₀ than the uncentered NFA.

The C-NFA is the correlation of W̄ᵀW̄ and W̄ᵀKW̄ with W̄ = W − W₀. The UC-NFA is the correlation of WᵀW and WᵀKW. We
take s₀ = 1, 0.1 and 0.01; the paper's text does not name its values. The spread is the largest minus the smallest value
over s₀, mean over training. The UC-NFA is small at initialization and becomes high, in the mean over s₀. The C-NFA is
high throughout training at every s₀; it is highest and varies least early, after five steps. A smaller s₀ gives a
smaller final test loss and a higher final UC-NFA and C-NFA. A correlation is “small” if it is nearer to chance (the
null) than to 1. It is “high” if it is nearer to 1: then the normalized correlation (C-NFA − null)/(1 − null) is above
1/2. Correlations are means over both hidden layers; statements of ours are about each layer.

Final is after the printed 800 steps. At the paper scale the networks have not fitted by then: the mean test loss still
falls at every s₀, and the training loss is larger for smaller s₀. So the order of the test losses depends on how far
training got. At equal training loss the order can differ. At the quick scale the statement on the test loss is
undecided as printed, and only the corrected form refutes it.
"""

from tasks.papers.centered_nfa.claims.shared import centerings, section_2_3

ID = "B.fig8"
KIND = "statistical"
TITLE = "The centered NFA is more robust to the initial scale on eigenvalues 1/(1+k²)"
PRINTED = f"{centerings.PRINTED}, Figure 8, Appendix G"
MATH = (centerings.LESS_SPREAD, r"\lambda_k(\Sigma) = \frac{1}{1 + k^2}")
MATH_CORRECTED = centerings.MATH_CORRECTED
CORRECTS = "a setting"
CORRECTION = centerings.CORRECTION
PRINTED_SETTINGS = centerings.PRINTED_SETTINGS
SPECTRUM = "1/(1+k^2)"
CONTROLS = centerings.CONTROLS
STATEMENTS = (
    *centerings.appendix_g(SPECTRUM, "Figure 8"),
    *section_2_3.statements(SPECTRUM, "Figure 8"),
)

draw = centerings.draw_nfa_and_losses
