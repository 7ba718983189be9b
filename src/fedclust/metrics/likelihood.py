"""Measures of a mixture of densities; `fedclust.algorithms.mixture_fit` computes them."""

from .indices import Measure

LOG_LIKELIHOOD = Measure(
    name="log-likelihood",
    title="Log-likelihood",
    meaning="how probable the rows are under the mixture",
    better="higher",
)
BIC = Measure(
    name="bic",
    title="BIC",
    meaning="misfit of the mixture, and a charge for each of its parameters",
    better="lower",
)
ICL = Measure(
    name="icl",
    title="ICL",
    meaning="BIC, and a charge for rows between clusters",
    better="lower",
)
FIT = {measure.name: measure for measure in (LOG_LIKELIHOOD, BIC, ICL)}
