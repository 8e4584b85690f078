"""`adabypass serve`: forecasts behind HTTP, and a live page."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adabypass.cli import options, terminal
from adabypass.cli.grouped import GroupedCommand, grouped
from adabypass.results.changes import FALSE_ALARMS, MIN_RATE

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from adabypass.service.guard import Access
    from adabypass.service.keeper import Keeper
    from adabypass.service.routes import Service

DEFAULT_PORT = 8765

state_option = click.option(
    "--state", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Keep what is learned in this folder, and go on from it after a restart or a crash.  [default: in "
    "memory only]",
)  # fmt: skip
address_options = (
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at."),
    click.option(
        "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True,
        help="Port to listen at; 0: any that is free.",
    ),
    click.option(
        "--token-file", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
        help="Answer only those who send the token in this file, of 16 characters or more: Authorization: Bearer "
        "TOKEN. Needed if other machines can reach the address.",
    ),
    click.option(
        "--allow-host", multiple=True, metavar="NAME",
        help="Another name by which the service is called, such as that of a proxy before it. May be repeated.",
    ),
)  # fmt: skip
learning_options = (
    click.option("--freq", metavar="SPAN", help='Time between two observations, such as "10 minutes": the steps of a '
                 "gap pass as missing values.  [default: the next one is the next step]"),
    click.option("--max-jump", metavar="SPAN", help="Refuse an observation that is dated more than this after all "
                 'others, such as "1 day": one wrong clock must not make all later ones late.'),
    click.option("--false-alarms", type=click.FloatRange(MIN_RATE, 0.5, max_open=True), default=FALSE_ALARMS,
                 show_default=True, metavar="RATE", help="Maximum rate of false alarms, per observation: of anomalies, "
                 "and of changes."),
    click.option("--keep", type=click.IntRange(50, 1_000_000), default=2_000, show_default=True, metavar="N",
                 help="Answers of each series that are kept for the page, and for readers who were away."),
    click.option("--fsync", type=click.Choice(["interval", "always"]), default="interval", show_default=True,
                 help="When what was learned is flushed to the disk: every second (a killed process loses nothing, a "
                 "power cut a second), or before every answer."),
)  # fmt: skip


model_options = (options.model_option, options.lag_options, options.period_option, options.support_option)
LIMITS = ("max_body", "max_series", "max_horizon", "max_event_streams", "rate", "max_gauges")


@click.command(cls=GroupedCommand, short_help="Forecast observations that are sent over HTTP, with a live page.")
@grouped("serve", "Address", *address_options)
@grouped("serve", "State", state_option)
@grouped("serve", "Model", *model_options)
@grouped("serve", "Learning", *learning_options)
@grouped(
    "serve", "Limits",
    click.option("--max-body", type=click.IntRange(100), default=1_000_000, show_default=True, metavar="BYTES",
                 help="Size of a request."),
    click.option("--max-series", type=click.IntRange(1), default=10_000, show_default=True, metavar="N",
                 help="Series; observations of more are refused."),
    click.option("--max-horizon", type=click.IntRange(1, 100_000), default=1_000, show_default=True, metavar="N",
                 help="Steps ahead that can be asked for."),
    click.option("--max-event-streams", type=click.IntRange(1), default=1_000, show_default=True, metavar="N",
                 help="Pages and programs that follow events at once."),
    click.option("--rate", type=click.FloatRange(1.0), default=1_000.0, show_default=True, metavar="N",
                 help="Requests a second from one address."),
    click.option("--max-gauges", type=click.IntRange(0), default=100, show_default=True, metavar="N",
                 help="Series with gauges of their own among the metrics of Prometheus."),
)  # fmt: skip
def serve(**given: Any) -> int:
    """Forecast observations that are sent over HTTP, learn each once, and show them on a live page.

    It listens to this machine alone unless --host says otherwise, which needs --token-file. Each observation is
    answered with the forecast that was made before it, how surprising it was, and what has changed:

        curl -d '{"id": "load", "y": 1.5}' -H 'content-type: application/json' http://127.0.0.1:8765/observations

    /docs describes all that can be asked, /openapi.json does it for programs, / is the page, /metrics is for
    Prometheus. What was answered is in --state, also if the process is killed. SIGTERM ends it with a checkpoint and
    exit code 0; Ctrl-C likewise, with exit code 130.
    """
    from adabypass.service import server  # noqa: PLC0415  (an extra)

    access, listening = open_address(given)
    with listening:
        keeper = open_keeper(given, given["state"])
        return run(keeper, access, listening, lambda service: terminal.note(f"Listening: {server.address(listening)}"))


def open_address(given: dict[str, Any]) -> "tuple[Access, socket.socket]":
    """Return who may ask, and the socket that the options describe."""
    from adabypass.service import server  # noqa: PLC0415  (an extra)

    with options.usage_errors():
        token = None if given["token_file"] is None else server.read_token(given["token_file"])
        access = server.make_access(given["host"], token, given["allow_host"])
    return access, server.listen(given["host"], given["port"])


def open_keeper(given: dict[str, Any], state: Path | None) -> "Keeper":
    """Return what the service keeps, with the settings of the options; say what is there."""
    from adabypass.service.keeper import Keeper, Settings  # noqa: PLC0415  (an extra)
    from adabypass.service.limits import Limits  # noqa: PLC0415

    model = (given["model"], given["lags"], given["seasonal_lags"], given["difference"])
    options.check_automatic_only(*model, period=given["period"], support=given["support"])
    template = options.forecaster(*model, given["missing"], (), given["period"], given["support"])
    limits = Limits()._replace(**{name: given[name] for name in LIMITS if name in given})
    settings = Settings(
        template, options.as_freq(given["freq"]), options.as_freq(given["max_jump"]), given["false_alarms"],
        given["fsync"], given["keep"],
    )  # fmt: skip
    keeper = Keeper(state, settings, limits)
    where = "in memory only: --state DIR keeps it" if state is None else f"in {state}"
    terminal.note(f"{len(keeper.now)} series, {keeper.stream.n_learned} observations learned, {where}.")
    return keeper


def run(keeper: "Keeper", access: "Access", listening: "socket.socket", on_started: "Callable[[Service], None]") -> int:
    """Serve until a signal; return the exit code."""
    from adabypass.service import server  # noqa: PLC0415  (an extra)
    from adabypass.service.routes import Service  # noqa: PLC0415

    service = Service(keeper, access)
    is_interrupted = server.serve(service, listening, lambda: on_started(service))
    return terminal.INTERRUPTED if is_interrupted else 0
