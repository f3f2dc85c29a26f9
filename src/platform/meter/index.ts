/**
 * Counters and gauges of this process in the text format of Prometheus, which are declared in `metrics.ts`. A label
 * never contains an address, and the number of labels for domains of recipients is bounded.
 */
export { createMeter, METRICS_TYPE, type Meter, type Reading, createShared } from './meter.ts';
export { mergeMetrics, type ProcessMetrics } from './merge-metrics.ts';
export { COUNTERS, GAUGES, HISTOGRAMS } from './metrics.ts';
