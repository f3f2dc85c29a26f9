import { describe, expect, it } from 'vitest';
import { editDistance, findNearest } from './nearest-name.ts';

describe('the edit distance', () => {
  it.each([
    { why: 'the same', from: 'port', to: 'port', distance: 0 },
    { why: 'neighbors swapped count once', from: 'prot', to: 'port', distance: 1 },
    { why: 'a letter left out', from: 'prt', to: 'port', distance: 1 },
    { why: 'a letter too many', from: 'poort', to: 'port', distance: 1 },
    { why: 'another letter', from: 'part', to: 'port', distance: 1 },
    { why: 'nothing typed', from: '', to: 'port', distance: 4 },
    { why: 'nothing meant', from: 'port', to: '', distance: 4 },
    { why: 'a classic', from: 'kitten', to: 'sitting', distance: 3 },
  ])('from “$from” to “$to” is as expected: $why', ({ from, to, distance }) => {
    expect(editDistance(from, to)).toBe(distance);
  });
});

describe('the nearest candidate', () => {
  it('is the one with the smallest edit distance', () => {
    expect(findNearest('dns.trise', ['dns.servers', 'dns.tries', 'log.level'])).toBe('dns.tries');
  });

  it('is a name with the same suffix rather than one with similar letters', () => {
    expect(findNearest('smtp.poll_ms', ['dns.timeout_ms', 'delivery.poll_ms'], '.poll_ms')).toBe('delivery.poll_ms');
  });

  it('is the name with the unit that was left out', () => {
    expect(findNearest('http.shutdown', ['http.shutdown_seconds', 'http.host'])).toBe('http.shutdown_seconds');
  });

  it.each([
    ['id', undefined],
    ['foo', undefined],
    ['cd', 'cc'],
    ['form', 'from'],
  ])('for the short name %s is %s', (given, nearest) => {
    expect(findNearest(given, ['from', 'to', 'cc', 'subject', 'tags'])).toBe(nearest);
  });

  it('is undefined when all are far away, because a wrong hint is worse than none', () => {
    expect(findNearest('colour', ['dns.tries', 'log.level'])).toBeUndefined();
  });
});
