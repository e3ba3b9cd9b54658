"""How long simulators in Python take for what `benches/sim.rs` measures.

    python -m venv peers && peers/bin/pip install numpy==2.4.6 simpy==4.1.2 ciw==3.2.7
    peers/bin/python bench/peers.py

Each figure is the least of several runs, in nanoseconds for a job of five calls, each with a copy after its p95, or for a
customer of M/M/10 at a load of 0.8.
"""

import random
import time

import ciw
import numpy
import simpy

P95 = 2.682858178
JOBS = 100_000
CUSTOMERS = 20_000
SERVERS, LOAD = 10, 0.8


def hedged_jobs():
    generator = numpy.random.default_rng(7)
    calls = generator.lognormal(0.0, 0.6, (JOBS, 5))
    late = calls > P95
    copies = P95 + generator.lognormal(0.0, 0.6, int(late.sum()))
    calls[late] = numpy.minimum(calls[late], copies)
    return calls.max(axis=1)


def simpy_queue():
    environment = simpy.Environment()
    servers = simpy.Resource(environment, SERVERS)
    generator = random.Random(7)
    times = []

    def customer():
        arrived = environment.now
        with servers.request() as turn:
            yield turn
            yield environment.timeout(generator.expovariate(1.0))
        times.append(environment.now - arrived)

    def arrivals():
        for _ in range(CUSTOMERS):
            yield environment.timeout(generator.expovariate(LOAD * SERVERS))
            environment.process(customer())

    environment.process(arrivals())
    environment.run()
    return times


def ciw_queue():
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(LOAD * SERVERS)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[SERVERS],
    )
    ciw.seed(7)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(CUSTOMERS)
    return simulation.get_all_records()


def least(run, count, times=5):
    def once():
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return min(once() for _ in range(times)) / count * 1e9


if __name__ == "__main__":
    print(f"numpy {numpy.__version__}, a hedged job of 5: {least(hedged_jobs, JOBS):.0f} ns")
    print(f"simpy {simpy.__version__}, a customer: {least(simpy_queue, CUSTOMERS):.0f} ns")
    print(f"ciw {ciw.__version__}, a customer: {least(ciw_queue, CUSTOMERS):.0f} ns")
