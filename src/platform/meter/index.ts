/**
 * Counters and gauges of this process in the text format of Prometheus. What is counted stands in `metrics.ts`. No label ever
 * holds an address, and domains of recipients have a bounded number of labels.
 */
export { createMeter, METRICS_TYPE, type Meter, type Reading } from './meter.ts';
export { createShared } from './shared.ts';
export { COUNTERS, GAUGES, HISTOGRAMS } from './metrics.ts';
