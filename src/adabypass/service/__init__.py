"""A stream behind HTTP, and its live page: `adabypass serve` and `adabypass watch`.

web, server           Starlette and uvicorn, imported here alone; the socket, and how the server ends
guard, limits         who may ask, how much, and how often; security headers
routes, openapi       what can be asked, and its description; metrics: the same in numbers for Prometheus
requests              what a request says, checked
events                server-sent events: one stream of answers for each page
keeper                learns what is sent, each row once, and answers; ranking: which series are unusual now
history               the newest answers of each series, in SQLite beside what the stream has learned
"""
