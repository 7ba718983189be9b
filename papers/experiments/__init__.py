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
    one.id: one
    for one in (
        ffcm_table2.EXPERIMENT,
        ffcm_table3.EXPERIMENT,
        ffcm_table4.EXPERIMENT,
        ffcm_table5.EXPERIMENT,
        ffcf_table.EXPERIMENT,
        llf_table2.EXPERIMENT,
        llf_table3.EXPERIMENT,
        llf_table4.EXPERIMENT,
        llf_table5.EXPERIMENT,
        llf_fig6.EXPERIMENT,
        fkm_fig1.EXPERIMENT,
        fkm_fig3.FIG_3,
        fkm_fig3.FIG_6,
        fkm_fig4.EXPERIMENT,
        fkm_fig5.EXPERIMENT,
        dwf_fig1.EXPERIMENT,
        dwf_tables.EXPERIMENT,
        dwf_fig4.EXPERIMENT,
        dwf_fig5.FIG_5,
        dwf_fig5.FIG_6,
        comparison.EXPERIMENT,
    )
}
