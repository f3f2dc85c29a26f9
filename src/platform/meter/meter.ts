import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
} from './metrics.ts';
import { BoundedMap } from '../limits/index.ts';

const SHARED_MS = 1000;

/** Calls within a second share one result, so that a hundred scrapes a second cost as much as one. */
export function createShared<T>(now: () => number, look: () => Promise<T>): () => Promise<T> {
  let last: { at: number; value: Promise<T> } | undefined;
  return () => {
    const at = now();
    // The clock may have been set back.
    if (!last || at < last.at || at - last.at > SHARED_MS) last = { at, value: look() };
    return last.value;
  };
}

const REMEMBERED_MAX = 10_000;

/**
 * Selects the names that get a label of their own. A label is a time series that Prometheus keeps for weeks, and names
 * come from outside: a name gets one after enough occurrences, while there are slots; every other is "other". A slot is
 * never taken away again, because a counter that disappears and comes back looks like a restart.
 */
export function createLabelSlots(options: {
  slots: number;
  threshold: number;
}): (name: string, times: number) => string {
  const named = new Set<string>();
  const met = new BoundedMap<string, number>(REMEMBERED_MAX);
  return (name, times) => {
    if (named.has(name)) return name;
    if (named.size >= options.slots) return OTHER;
    const count = (met.get(name) ?? 0) + times;
    if (count >= options.threshold) {
      named.add(name);
      met.delete(name);
      return name;
    }
    met.set(name, count);
    return OTHER;
  };
}

const OTHER = 'other';

export interface Reading<Name extends GaugeName> {
  value: number;
  labels?: LabelsOf<(typeof GAUGES)[Name]>;
}

export interface Meter {
  count<Name extends CounterName>(name: Name, labels?: LabelsOf<(typeof COUNTERS)[Name]>, by?: number): void;
  observe<Name extends HistogramName>(name: Name, seconds: number, labels: LabelsOf<(typeof HISTOGRAMS)[Name]>): void;
  /**
   * Registers the reader of a gauge, called for each scrape. The latest one for a name counts; if it fails, the gauge
   * is omitted.
   */
  watch<Name extends GaugeName>(name: Name, read: () => Reading<Name>[] | Promise<Reading<Name>[]>): void;
  /** Returns the domain if it has a label of its own, else "other"; `recipients` were just counted for it. */
  domainLabel(domain: string, recipients: number): string;
  /** Renders all metrics in the text format of Prometheus. Calls within a second share one result. */
  text(): Promise<string>;
}

type Watch = () => Promise<{ value: number; labels?: Record<string, string> }[]>;

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** A domain with few recipients needs no time series. */
const RECIPIENTS_FOR_A_LABEL = 50;

/** Creates the metrics of one process. */
export function createMeter(options: {
  domains: number;
  now(): number;
  fault(error: unknown, gauge: GaugeName): void;
}): Meter {
  const registry = new Registry();
  const counters = new Map(
    Object.entries(COUNTERS).map(([name, { help, labels }]) => [
      name,
      new Counter({ name, help, labelNames: [...labels], registers: [registry] }),
    ]),
  );
  const histograms = new Map(
    Object.entries(HISTOGRAMS).map(([name, { help, labels, buckets }]) => [
      name,
      new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [registry] }),
    ]),
  );
  const gauges = new Map(
    Object.entries(GAUGES).map(([name, { help, labels }]) => [
      name,
      new Gauge({ name, help, labelNames: [...labels], registers: [registry] }),
    ]),
  );
  const watched = new Map<GaugeName, Watch>();
  let isOfProcess = false;

  async function read(name: GaugeName): Promise<void> {
    const gauge = gauges.get(name);
    if (!gauge) return;
    // After a reset, a gauge without labels would be reported as 0.
    if (GAUGES[name].labels.length === 0) gauge.remove();
    else gauge.reset();
    try {
      for (const { value, labels } of (await watched.get(name)?.()) ?? []) gauge.set(labels ?? {}, value);
    } catch (error) {
      options.fault(error, name);
    }
  }

  async function look(): Promise<string> {
    // Node's own metrics are collected from the first scrape on, so that a process without Prometheus does not pay for
    // them.
    if (!isOfProcess) collectDefaultMetrics({ register: registry });
    isOfProcess = true;
    await Promise.all([...gauges.keys()].map((name) => read(name as GaugeName)));
    return registry.metrics();
  }

  return {
    count: (name, labels, by = 1) => counters.get(name)?.inc(labels ?? {}, by),
    observe: (name, seconds, labels) => histograms.get(name)?.observe(labels, seconds),
    watch: (name, reading) => void watched.set(name, reading as Watch),
    domainLabel: createLabelSlots({ slots: options.domains, threshold: RECIPIENTS_FOR_A_LABEL }),
    text: createShared(options.now, look),
  };
}
