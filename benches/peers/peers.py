"""A hundred tariffs on one year of 15-minute readings, billed by others and by Samebill: one table.

peers.py make FOLDER          writes readings.csv and plans/NN.json (URDB) into a folder
peers.py time FOLDER OURS     bills them with PySAM and ts-tariffs, compares the totals with OURS (what
                              `cargo bench --bench peers` printed), prints the table

The year is the one that PySAM knows: 365 days, a Monday first, no clock change (2018 in America/Phoenix).
"""

import json
import pathlib
import statistics
import sys
import time
from datetime import datetime, timedelta

N_PLANS = 100
N_DAYS = 365
READINGS_PER_HOUR = 4
FIRST = datetime(2018, 1, 1)
OFFSET = "-07:00"


def kwh():
    """Energy of each reading, kWh: a day's shape with noise from a plain generator."""
    state, values = 1, []
    for i in range(N_DAYS * 24 * READINGS_PER_HOUR):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        hour = i // READINGS_PER_HOUR % 24
        shape = 4 if 8 <= hour < 20 else 1
        values.append(round(shape * (state >> 44) / 1e6, 6))
    return values


def tariff(n):
    """A tariff like no other: three periods by season, day type and hour, tiers, demand by period, a minimum."""
    on, off, night = 12 + n % 5, 18 + n // 5 % 5, 4 + n // 25 % 4
    summer = range(5, 9) if n % 2 == 0 else range(4, 10)

    def day(month, weekday):
        hours = []
        for hour in range(24):
            if hour >= 22 or hour < night:
                hours.append(1)
            elif weekday and month in summer and on <= hour < off:
                hours.append(2)
            else:
                hours.append(0)
        return hours

    weekdays = [day(month, True) for month in range(12)]
    weekends = [day(month, False) for month in range(12)]
    cents = n / 10_000
    return {
        "label": f"{n:024x}",
        "name": f"Plan {n:02}",
        "utility": "Peers",
        "fixedchargefirstmeter": 9.5 + n / 100,
        "fixedchargeunits": "$/month",
        "mincharge": 40,
        "minchargeunits": "$/month",
        "energyratestructure": [
            [{"rate": 0.11, "max": 500}, {"rate": 0.13, "max": 900}, {"rate": round(0.17 + cents, 6)}],
            [{"rate": 0.07, "max": 500}, {"rate": 0.08, "max": 900}, {"rate": round(0.09 + cents, 6)}],
            [{"rate": 0.31, "max": 500}, {"rate": 0.33, "max": 900}, {"rate": round(0.40 + cents, 6)}],
        ],
        "energyweekdayschedule": weekdays,
        "energyweekendschedule": weekends,
        "demandratestructure": [[{"rate": round(2 + cents, 6)}], [{"rate": 0}], [{"rate": 6.5}]],
        "demandweekdayschedule": weekdays,
        "demandweekendschedule": weekends,
    }


def make(folder):
    (folder / "plans").mkdir(parents=True, exist_ok=True)
    step = timedelta(minutes=60 // READINGS_PER_HOUR)
    with open(folder / "readings.csv", "w", encoding="utf-8") as file:
        file.write("start,kwh\n")
        for i, value in enumerate(kwh()):
            file.write(f"{(FIRST + i * step).isoformat()}{OFFSET},{value:.6f}\n")
    for n in range(N_PLANS):
        (folder / "plans" / f"{n:02}.json").write_text(json.dumps(tariff(n)), encoding="utf-8")


def rates_of(plan):
    """A tariff as the matrices of Utilityrate5: periods and tiers count from 1, the last tier is open."""

    def matrix(structure, bounds_unit):
        rows = []
        for p, tiers in enumerate(structure, 1):
            for t, tier in enumerate(tiers, 1):
                bound = [tier.get("max", 1e38)] + ([0] if bounds_unit else [])
                rows.append([p, t, *bound, tier["rate"], *([0] if bounds_unit else [])])
        return rows

    def counted_from_one(table):
        return [[period + 1 for period in row] for row in table]

    return {
        "ur_metering_option": 0,
        "rate_escalation": [0],
        "ur_en_ts_buy_rate": 0,
        "ur_en_ts_sell_rate": 0,
        "ur_sell_eq_buy": 0,
        "ur_nm_yearend_sell_rate": 0,
        "ur_nm_credit_month": 11,
        "ur_nm_credit_rollover": 0,
        "ur_monthly_fixed_charge": plan["fixedchargefirstmeter"],
        "ur_monthly_min_charge": plan["mincharge"],
        "ur_annual_min_charge": 0,
        "ur_ec_sched_weekday": counted_from_one(plan["energyweekdayschedule"]),
        "ur_ec_sched_weekend": counted_from_one(plan["energyweekendschedule"]),
        "ur_ec_tou_mat": matrix(plan["energyratestructure"], True),
        "ur_dc_enable": 1,
        "ur_dc_sched_weekday": counted_from_one(plan["demandweekdayschedule"]),
        "ur_dc_sched_weekend": counted_from_one(plan["demandweekendschedule"]),
        "ur_dc_tou_mat": matrix(plan["demandratestructure"], False),
        "ur_dc_flat_mat": [[month, 1, 1e38, 0] for month in range(12)],
        "ur_enable_billing_demand": 0,
    }


def time_pysam(folder, n_plans):
    """Seconds of each plan: execute alone, and with its set-up; and the year's totals."""
    import PySAM.Utilityrate5 as utilityrate5

    load = [value * READINGS_PER_HOUR for value in kwh()]
    alone, with_set_up, totals = [], [], {}
    for n in range(n_plans):
        plan = json.loads((folder / "plans" / f"{n:02}.json").read_text(encoding="utf-8"))
        begin = time.perf_counter()
        module = utilityrate5.new()
        module.Lifetime.analysis_period = 1
        module.Lifetime.system_use_lifetime_output = 0
        module.Lifetime.inflation_rate = 0
        module.SystemOutput.degradation = [0]
        module.SystemOutput.gen = [0] * len(load)
        module.Load.load = load
        module.ElectricityRates.assign(rates_of(plan))
        ready = time.perf_counter()
        module.execute(0)
        end = time.perf_counter()
        alone.append(end - ready)
        with_set_up.append(end - begin)
        totals[f"{n:02}"] = sum(module.Outputs.year1_monthly_utility_bill_w_sys)
    return alone, with_set_up, totals


def time_ts_tariffs(n_plans):
    """Seconds of each plan; time of use by the hour and monthly peak only: it knows neither seasons nor day types
    in one tariff, nor tiers by period. `None` where it does not run."""
    try:
        import pandas
        from ts_tariffs.meters import MeterData
        from ts_tariffs.tariffs import DemandTariff, TouTariff
        from ts_tariffs.ts_utils import SampleRate

        index = pandas.date_range(FIRST, periods=N_DAYS * 24 * READINGS_PER_HOUR, freq="15min")
        meter = MeterData("meter", pandas.Series(kwh(), index=index), SampleRate(15, "minutes"), "kWh")
        common = {"consumption_unit": "kWh", "sample_rate": SampleRate(15, "minutes"), "adjustment_factor": 1.0}
        seconds = []
        for n in range(n_plans):
            begin = time.perf_counter()
            on, off, night = 12 + n % 5, 18 + n // 5 % 5, 4 + n // 25 % 4
            tou = {
                "time_bins": [night, on, off, 22],
                "bin_rates": [0.07, 0.11, 0.31, 0.11, 0.07],
                "bin_labels": ["night", "off", "on", "off", "night"],
            }
            TouTariff("energy", "TouTariff", rate_unit="$/kWh", tou=tou, **common).apply(meter)
            DemandTariff("demand", "DemandTariff", rate_unit="$/kW", rate=8.0, frequency_applied="month", **common).apply(meter)
            seconds.append(time.perf_counter() - begin)
        return seconds
    except Exception as error:  # whatever it trips over is what the table says
        print(f"ts-tariffs does not run here: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def report(folder, ours):
    ours = json.loads(pathlib.Path(ours).read_text(encoding="utf-8"))
    alone, with_set_up, totals = time_pysam(folder, N_PLANS)
    apart = max(abs(float(ours["totals"][n]) - total) / abs(total) for n, total in totals.items())
    if len(ours["totals"]) != N_PLANS or apart > 1e-9:
        sys.exit(f"the bills differ: relative {apart:.2e}")
    print(f"{N_PLANS} plans on {len(kwh())} readings; every total is PySAM's to a relative {apart:.0e}.\n")
    ts_tariffs = time_ts_tariffs(N_PLANS)
    price = ours["aggregate_seconds"] + ours["price_seconds"]
    rows = [
        ("PySAM, execute alone", sum(alone)),
        ("PySAM with its set-up", sum(with_set_up)),
        ("ts-tariffs: time of use by the hour and peak alone", ts_tariffs and sum(ts_tariffs)),
        ("Samebill: readings added up, all plans billed", price),
        ("Samebill with the answer written", ours["with_text_seconds"]),
    ]
    print("| 100 plans, a year of 15-minute readings, one thread | seconds | a plan | times ours |")
    print("|---|--:|--:|--:|")
    for name, seconds in rows:
        if seconds is None:
            print(f"| {name} | does not run | | |")
        else:
            print(f"| {name} | {seconds:.4f} | {seconds / N_PLANS * 1e6:,.1f} µs | {seconds / price:,.1f} |")
    print(f"\nPySAM's median of one execute: {statistics.median(alone):.3f} s. The plain sum of the readings: "
          f"{ours['sum_seconds'] * 1e6:.1f} µs.")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder]:
            make(pathlib.Path(folder))
        case ["time", folder, ours]:
            report(pathlib.Path(folder), ours)
        case _:
            sys.exit(__doc__)
