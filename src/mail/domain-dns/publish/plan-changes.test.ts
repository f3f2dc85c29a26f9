import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { isSamePlain, type PlainRecord } from '../../../protocol/dns/index.ts';
import { queriesFor, planChanges, type PlanInput } from './plan-changes.ts';
import type { ZoneRecord } from './provider.ts';

const txt = (name: string, value: string): PlainRecord => ({ name, type: 'TXT', value, priority: null });
const mx = (name: string, value: string, priority = 10): PlainRecord => ({ name, type: 'MX', value, priority });
const cname = (name: string, value: string): PlainRecord => ({ name, type: 'CNAME', value, priority: null });
const inZone = (record: PlainRecord, ttl = 60): ZoneRecord => ({ ...record, ttl, handle: record });
const plan = (given: Partial<PlanInput>) => planChanges({ wanted: [], ours: [], seen: [], ttlSeconds: 300, ...given });

describe('planChanges', () => {
  it('replaces one of our records with a new one at the same name', () => {
    const old = txt('k.example', 'v=DKIM1; p=old');
    const next = txt('k.example', 'v=DKIM1; p=new');
    const { changes, deletes, creates } = plan({ wanted: [next], ours: [old], seen: [inZone(old)] });
    expect(changes).toEqual([{ ...next, action: 'replace', ttl: 300 }]);
    expect(deletes).toEqual([inZone(old)]);
    expect(creates).toEqual([{ ...next, ttl: 300 }]);
  });

  it('treats a name in other letters, with its final dot or in another order as the same record', () => {
    const seen = [inZone(mx('Send.Example.', 'MX.test')), inZone(txt('send.example', 'other'))];
    expect(plan({ wanted: [mx('send.example', 'mx.test')], seen }).changes).toEqual([]);
    expect(plan({ wanted: [txt('send.example', 'OTHER')], seen }).changes).toHaveLength(1);
  });

  it('forgets one of our records that somebody removed, and creates it again when it is wanted', () => {
    const gone = txt('a.example', 'x');
    expect(plan({ ours: [gone] })).toMatchObject({ changes: [], forgotten: [gone] });
    expect(plan({ ours: [gone], wanted: [gone] })).toMatchObject({ changes: [{ action: 'create' }], forgotten: [] });
  });

  it('reports a conflict for a foreign SPF record although ours exists already, and none for ours twice', () => {
    const own = txt('send.example', 'v=spf1 include:a.test ~all');
    const foreign = inZone(txt('send.example', 'v=spf1 include:b.test -all'));
    for (const ours of [[own], []]) {
      const { inTheWay, changes } = plan({ wanted: [own], ours, seen: [inZone(own), foreign] });
      expect(inTheWay).toEqual([expect.stringContaining('v=spf1 include:b.test -all')]);
      expect(changes).toEqual([]);
    }
    expect(plan({ wanted: [own], seen: [inZone(own), inZone(txt('send.example', 'other'))] }).inTheWay).toEqual([]);
    expect(plan({ wanted: [own], seen: [inZone(own)] })).toMatchObject({ inTheWay: [], changes: [] });
  });

  it('reports a conflict for a foreign MTA-STS record although ours exists already', () => {
    const own = txt('_mta-sts.example', 'v=STSv1; id=1');
    const foreign = inZone(txt('_mta-sts.example', 'v=STSv1; id=2'));
    const { inTheWay, changes } = plan({ wanted: [own], ours: [own], seen: [inZone(own), foreign] });
    expect([inTheWay, changes]).toEqual([[expect.stringContaining('v=STSv1; id=2')], []]);
  });

  it('leaves a policy of the owner in place of ours', () => {
    const own = inZone(txt('_dmarc.example', 'v=DMARC1; p=reject; rua=mailto:a@b'));
    const wanted = [txt('_dmarc.example', 'v=DMARC1; p=none; rua=mailto:c@d')];
    expect(plan({ wanted, seen: [own] })).toMatchObject({ changes: [], inTheWay: [] });
    // Ours from before is no policy of the owner.
    const before = txt('_dmarc.example', 'v=DMARC1; p=none;');
    expect(plan({ wanted, ours: [before], seen: [inZone(before)] }).changes).toMatchObject([{ action: 'replace' }]);
  });

  it('reports no conflict with our own CNAME that is about to be deleted', () => {
    const old = cname('send.example', 'x.test');
    const { inTheWay, changes } = plan({ wanted: [mx('send.example', 'mx.test')], ours: [old], seen: [inZone(old)] });
    expect(inTheWay).toEqual([]);
    expect(changes.map(({ action }) => action)).toEqual(['create', 'delete']);
  });

  it('queries every type that can conflict for a CNAME, and only its own types for another name', () => {
    expect(queriesFor([cname('t.example', 'x'), mx('s.example', 'y'), txt('S.example', 'z')], [])).toEqual([
      { name: 't.example', types: ['CNAME', 'A', 'AAAA', 'TXT', 'MX', 'NS', 'CAA'] },
      { name: 's.example', types: ['CNAME', 'MX', 'TXT'] },
    ]);
  });

  test.each<[PlainRecord, PlainRecord, string | undefined]>([
    [txt('a', 'v=spf1 a:x ~all'), txt('a', 'v=spf1 -all'), 'may have only one SPF record'],
    [txt('a', 'v=spf1 a:x ~all'), txt('a', 'V=SPF1 ip4:192.0.2.1 A:X -all'), undefined],
    [txt('a', 'v=spf1 a:x ~all'), txt('a', 'v=spf10'), undefined],
    [txt('a', 'v=DKIM1; k=rsa; p=AAAA'), txt('a', 'p=BBBB'), 'a selector may have only one key'],
    [txt('a', 'v=DKIM1; k=rsa; p=AAAA'), txt('a', 'hello'), undefined],
    [txt('a', 'v=DMARC1; p=none'), txt('a', 'v = DMARC1 ; p=reject'), undefined],
    [txt('a', 'v=DMARC1; p=none'), cname('a', 'dmarc.vendor.test'), undefined],
    [txt('a', 'v=TLSRPTv1; rua=mailto:a@b'), txt('a', 'v=TLSRPTv1;rua=mailto:c@d'), undefined],
    [txt('a', 'v=TLSRPTv1; rua=mailto:a@b'), cname('a', 'reports.vendor.test'), undefined],
    [txt('a', 'v=STSv1; id=1'), txt('a', 'v=STSv1; id=2'), 'may have only one MTA-STS record'],
    [txt('a', 'v=STSv1; id=1'), cname('a', 'y'), 'no other record may exist'],
    [mx('a', 'x'), mx('a', 'y', 0), 'mail would be delivered to both servers'],
    [mx('a', 'x'), mx('a', 'X', 99), undefined],
    [mx('a', 'x'), cname('a', 'y'), 'no other record may exist'],
    [cname('a', 'x'), txt('a', 'y'), 'must be the only record at its name'],
    [cname('a', 'x'), cname('a', 'y'), 'no other record may exist'],
    [txt('a', 'y'), mx('a', 'x'), undefined],
  ])('with %j next to %j: %s', (wanted, other, why) => {
    const { inTheWay, deletes } = plan({ wanted: [wanted], seen: [inZone(other)] });
    if (why === undefined) expect(inTheWay).toEqual([]);
    else expect(inTheWay.join()).toContain(why);
    expect(deletes).toEqual([]);
  });

  it('never deletes a foreign record, and leaves the zone with what is wanted', () => {
    const anyRecord = fc.oneof(
      fc.tuple(fc.constantFrom('a', 'b', 'A'), fc.constantFrom('x', 'y', 'v=spf1 a ~all')).map(([n, v]) => txt(n, v)),
      fc
        .tuple(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y'), fc.constantFrom(1, 2))
        .map(([n, v, p]) => mx(n, v, p)),
      fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y')).map(([n, v]) => cname(n, v)),
    );
    const some = fc.array(anyRecord, { maxLength: 6 });
    fc.assert(
      fc.property(some, some, some, (wanted, ours, zone) => {
        const seen = zone.map((record) => inZone(record));
        const { deletes, creates, inTheWay } = plan({ wanted, ours, seen });
        for (const gone of deletes) {
          expect(ours.some((one) => isSamePlain(one, gone))).toBe(true);
          expect(wanted.some((one) => isSamePlain(one, gone))).toBe(false);
        }
        for (const made of creates) expect(seen.some((one) => isSamePlain(one, made))).toBe(false);
        const after = [...seen.filter((one) => !deletes.includes(one)), ...creates];
        const stale = after.filter((one) => ours.some((each) => isSamePlain(each, one)));
        if (inTheWay.length === 0) {
          for (const one of stale) expect(wanted.some((each) => isSamePlain(each, one))).toBe(true);
        }
      }),
    );
  });
});
