"""Simulates periodic tasks of fixed priority on one CPU with SimSo; run by ../sim.py, in SimSo's own environment.

Standard input: JSON, `span_ms` and `tasks` (`name`, `period_ms`, `run_ms`, `priority`). Standard output: JSON, `seconds`
(of the simulation alone, by the wall) and `ends_ns`, when each job of each task ended.
"""

import json
import sys
import time

from simso.configuration import Configuration
from simso.core import Model

CYCLES_PER_MS = 1_000_000


def main():
    asked = json.load(sys.stdin)
    configuration = Configuration()
    configuration.cycles_per_ms = CYCLES_PER_MS
    configuration.duration = asked["span_ms"] * CYCLES_PER_MS
    for at, task in enumerate(asked["tasks"], 1):
        configuration.add_task(
            name=task["name"],
            identifier=at,
            period=task["period_ms"],
            activation_date=0,
            # It cuts to whole cycles; a tenth of one more, as most figures are none in binary.
            wcet=task["run_ms"] + 0.1 / CYCLES_PER_MS,
            deadline=task["period_ms"],
            data={"priority": task["priority"]},
        )
    configuration.add_processor(name="CPU", identifier=1)
    configuration.scheduler_info.clas = "simso.schedulers.FP"
    configuration.check_all()
    model = Model(configuration)
    begin = time.perf_counter()
    model.run_model()
    seconds = time.perf_counter() - begin
    ends = {
        task.name: [round(job.end_date) for job in task.jobs if job.end_date is not None]
        for task in model.results.tasks.values()
    }
    json.dump({"seconds": seconds, "ends_ns": ends}, sys.stdout)


main()
