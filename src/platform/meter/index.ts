/**
 * Counters and gauges of this process in the text format of Prometheus. What is counted stands in `metrics.ts`. No label ever
 * holds an address, and domains of recipients have a bounded number of labels.
 */
export { createMeter, METRICS_TYPE, type Meter, type Reading, createShared } from './meter.ts';
export { COUNTERS, GAUGES, HISTOGRAMS } from './metrics.ts';
