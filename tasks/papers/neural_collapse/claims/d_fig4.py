"""In Deep RFM with Fourier features M^{1/2} alone makes NC1 fall from layer to layer, and the AGOP makes NC2 fall too.

NC1 = tr Sigma_W / tr Sigma_B is the variance within classes over that between them. NC1 must fall with depth: in the
last layer it must be below a tenth of its value in the first layer. This limit is ours. M is the layer's AGOP. We take
the relative change of NC1 at each step of a layer, in the mean over layers. NC1 must fall at sqrt(M) = M^{1/2} and rise
at the random feature map Phi. NC2 is the distance of the class means from a simplex ETF. In the last layer it must be
lower than with M = I. The features are those of the l1 kernel: cos(Wx + b) with Cauchy W of scale 0.05. Data, ridge and
controls are those of D.fig3. As there, NC1 after sqrt(M) must fall from every layer to the next, in the mean over seeds
of its relative change, and an exponential fall to a floor must fit its curve best. The fit is R^2 of log NC1 at the
best numbers a, b and c of each law. The laws are a exp(-b (l - 1)) + c (exponential), a straight line that ends at c, a
l^{-b} + c (power law), and a single step from one level to another between two layers. Statements of ours ask whether
NC1 of the layer's input falls in every layer too, and whether the last layer's NC1 falls with the number of samples.
"""

from tasks.papers.neural_collapse.claims.shared import layer_collapse
from tasks.papers.neural_collapse.claims.shared.deep_rfm import EQUAL_SEEDS as EQUAL_SEEDS
from tasks.papers.neural_collapse.claims.shared.deep_rfm import interpolation
from tasks.papers.neural_collapse.claims.shared.layer_collapse import FLOOR, statements
from tasks.papers.neural_collapse.claims.shared.layer_collapse import draw as draw

ID = "D.fig4"
KIND = "statistical"
TITLE = "Deep RFM with Fourier features collapses due to the AGOP alone"
PRINTED = "NC1 and NC2 fall over 18 layers; √M lowers NC1, the feature map raises it, Figure 4"
MATH = layer_collapse.MATH
FEATURES = "fourier"
STATEMENTS = (*statements(FEATURES, figure=4), FLOOR)
HYPOTHESES = (interpolation(FEATURES),)
CONTROLS = layer_collapse.CONTROLS
