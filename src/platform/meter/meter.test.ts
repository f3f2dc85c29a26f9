import { describe, expect, it } from 'vitest';
import { createLabelSlots, createMeter } from './meter.ts';

describe('domain labels of metrics', () => {
  it('include a domain for good once it occurred often enough', () => {
    const label = createLabelSlots({ slots: 2, threshold: 50 });
    expect([label('a.example', 49), label('a.example', 1), label('a.example', 1)]).toEqual([
      'other',
      'a.example',
      'a.example',
    ]);
    expect([label('b.example', 60), label('c.example', 1000), label('a.example', 1)]).toEqual([
      'b.example',
      'other',
      'a.example',
    ]);
  });

  it('do not include a hundred thousand domains that occur once each', () => {
    const label = createLabelSlots({ slots: 20, threshold: 50 });
    const labels = new Set(Array.from({ length: 100_000 }, (_, n) => label(`d${n}.example`, 1)));
    expect([...labels]).toEqual(['other']);
  });
});

describe('the Prometheus output', () => {
  it('keeps a label with quotes and line breaks in one label', async () => {
    const meter = createMeter({ domains: 1, now: () => 0, fault: () => undefined });
    meter.count('rasket_deliveries_total', { outcome: 'delivered', domain: 'a"\n} 1\nevil 2 \\' });
    const lines = (await meter.text()).split('\n').filter((line) => line.startsWith('rasket_deliveries_total{'));
    expect(lines).toEqual([String.raw`rasket_deliveries_total{outcome="delivered",domain="a\"\n} 1\nevil 2 \\"} 1`]);
    expect(await meter.text()).not.toMatch(/^evil/m);
  });

  it('leaves out a gauge that has no reader or fails, and includes the others', async () => {
    const faults: string[] = [];
    const meter = createMeter({ domains: 1, now: () => 0, fault: (_error, gauge) => void faults.push(gauge) });
    meter.watch('rasket_nodes', () => Promise.reject(new Error('no database')));
    meter.watch('rasket_sending_on', () => [{ value: 1 }]);
    const text = await meter.text();
    expect(text).toMatch(/^rasket_sending_on 1$/m);
    expect(text).not.toMatch(/^rasket_(?:nodes|disk_free_bytes)/m);
    expect(faults).toEqual(['rasket_nodes']);
  });

  it('is rendered once for scrapes that come at the same time', async () => {
    const meter = createMeter({ domains: 1, now: () => 0, fault: () => undefined });
    let reads = 0;
    meter.watch('rasket_nodes', () => [{ value: ++reads }]);
    await Promise.all(Array.from({ length: 100 }, () => meter.text()));
    expect(reads).toBe(1);
  });
});
