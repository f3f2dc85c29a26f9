import { describe, expect, it } from 'vitest';
import { diagnose, type Answer, type Observations, type ServerObservation, type Wanted } from './index.ts';

const WANTED: Wanted = {
  record: 'SPF',
  type: 'TXT',
  name: 'send.m.example.com',
  value: 'v=spf1 a:host.test ~all',
  priority: null,
  domain: 'm.example.com',
};
const found = (...records: string[]): Answer => ({ kind: 'found', records, aliases: [] });
const NONE: Answer = { kind: 'none', why: 'nxdomain', aliases: [] };
const LATE: Answer = { kind: 'failed', reason: 'timeout' };
const SERVFAIL: Answer = { kind: 'failed', reason: 'servfail' };
const silent: ServerObservation = { host: 'ns1.example.com', state: 'silent' };
const lame: ServerObservation = { host: 'ns2.example.com', state: 'lame' };

const say = (seen: Partial<Observations>, servers: ServerObservation[]): string | null =>
  diagnose(WANTED, { nowMs: 0, checked: NONE, zone: { name: 'example.com', servers }, ...seen }).sentence;

describe('name servers that did not answer in time', () => {
  it.each([
    ['finds nothing', { resolver: NONE }],
    ['found nothing a moment ago and is slow now', { resolver: LATE }],
  ])('are not called dead when our resolver %s', (_, seen) => {
    expect(say(seen, [silent])).toBe(
      'Our resolver finds no TXT record at send.m.example.com, and of the name servers of example.com, ns1.example.com did not answer in time; publish the record shown, and if it is published, ask again in a minute.',
    );
  });

  it('are not called dead when our resolver is as slow', () => {
    expect(say({ checked: LATE, resolver: LATE }, [silent, lame])).toBe(
      'Of the name servers of example.com, ns1.example.com did not answer in time; ns2.example.com does not know the zone (lame delegation), and our resolver gave no answer about send.m.example.com either (timeout); ask again in a minute.',
    );
  });

  it('are called dead when our resolver cannot reach them either', () => {
    expect(say({ checked: SERVFAIL, resolver: SERVFAIL }, [silent])).toBe(
      'Of the name servers of example.com, ns1.example.com does not answer, so nobody can look send.m.example.com up; mend it or change the delegation at the registrar.',
    );
  });

  it('say nothing against what our resolver finds', () => {
    expect(say({ resolver: found('v=spf1 -all') }, [silent])).toContain('lacks a:host.test');
    expect(say({ resolver: found(WANTED.value) }, [silent])).toContain('is published as asked for by now');
  });

  it('and what was found a moment ago is not quoted, because it may stand behind an alias', () => {
    const sentence = say({ checked: found('v=spf1 secret'), resolver: LATE }, [silent]);
    expect(sentence).toContain('did not answer in time');
    expect(sentence).not.toContain('secret');
  });

  it('beside others that have the record are no reason to take them out while our resolver is slow', () => {
    const answers: ServerObservation = { host: 'ns3.example.com', state: 'answers', answer: found(WANTED.value) };
    expect(say({ checked: LATE, resolver: LATE }, [silent, answers])).toBe(
      'The TXT record at send.m.example.com is published as asked for, but our resolver gave no answer (timeout); it is asked again with the next check.',
    );
    expect(say({ checked: SERVFAIL, resolver: SERVFAIL }, [silent, answers])).toContain('take it out or mend it');
  });
});
