"""One file per table or figure: tasks, published values and claims."""

from collections.abc import Mapping

from ..experiment import Experiment
from . import (
    comparison,
    dwf_fig1,
    dwf_fig4,
    dwf_fig5,
    dwf_tables,
    ffcf_table,
    ffcm_table2,
    ffcm_table3,
    ffcm_table4,
    ffcm_table5,
    fkm_fig1,
    fkm_fig3,
    fkm_fig4,
    fkm_fig5,
    llf_fig6,
    llf_table2,
    llf_table3,
    llf_table4,
    llf_table5,
)

EXPERIMENTS: Mapping[str, Experiment] = {
    module.EXPERIMENT.id: module.EXPERIMENT
    for module in (
        comparison,
        ffcm_table2,
        ffcm_table3,
        ffcm_table4,
        ffcm_table5,
        ffcf_table,
        llf_table2,
        llf_table3,
        llf_table4,
        llf_table5,
        llf_fig6,
        fkm_fig1,
        fkm_fig3,
        fkm_fig4,
        fkm_fig5,
        dwf_fig1,
        dwf_tables,
        dwf_fig4,
        dwf_fig5,
    )
}
