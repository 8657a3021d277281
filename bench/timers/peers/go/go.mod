module tardy/bench/timers

go 1.19
