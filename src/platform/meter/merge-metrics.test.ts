import { expect, it } from 'vitest';
import { createMeter } from './meter.ts';
import { mergeMetrics } from './merge-metrics.ts';

it('samples of several processes are told apart by a label and stay with the comments of their metric', () => {
  const first = [
    '# HELP mail_total Mail.',
    '# TYPE mail_total counter',
    'mail_total{domain="a}.example",result="x y"} 3',
    '',
    '# HELP up Up.',
    '# TYPE up gauge',
    'up 1',
    '',
  ].join('\n');
  const second = first.replace(' 3', ' 4').replace('up 1', 'up{} 0');
  const merged = mergeMetrics([
    { process: 1, text: first },
    { process: 2, text: second },
  ]);
  expect(merged.split('\n')).toEqual([
    '# HELP mail_total Mail.',
    '# TYPE mail_total counter',
    'mail_total{process="1",domain="a}.example",result="x y"} 3',
    'mail_total{process="2",domain="a}.example",result="x y"} 4',
    '',
    '# HELP up Up.',
    '# TYPE up gauge',
    'up{process="1"} 1',
    'up{process="2"} 0',
    '',
  ]);
});

it('metrics that only one process has are kept', async () => {
  const meter = createMeter({ domains: 1, now: () => 0, fault: () => undefined });
  const text = await meter.text();
  const merged = mergeMetrics([
    { process: 1, text: '' },
    { process: 2, text },
  ]);
  const countLines = (all: string, kind: RegExp): number => all.split('\n').filter((line) => kind.test(line)).length;
  expect(countLines(merged, /^# TYPE /)).toBe(countLines(text, /^# TYPE /));
  expect(countLines(merged, /^[^#].*process="2"/)).toBe(countLines(text, /^[^#]/));
});
