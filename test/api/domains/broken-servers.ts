import type { BrokenZone } from './broken-zone.ts';

const at = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
export const BROKEN_SERVERS: BrokenZone[] = [
  {
    why: 'nothing published',
    of: 'dkim',
    status: 'pending',
    breakIt: ({ dns, dkim }) => dns.forget(dkim.name),
    says: ({ dkim, zone, now }) =>
      `There is no such TXT record at ${dkim.name} on ns1.${zone}; publish the record shown, which our resolver may not notice before ${at(now + 60_000)}.`,
  },
  {
    why: 'an absence that the resolver remembers',
    of: 'dkim',
    status: 'pending',
    breakIt: ({ dns, dkim }) => dns.remember(dkim.name, 'TXT', 'NXDOMAIN', 1800),
    says: ({ dkim, now }) =>
      `The TXT record at ${dkim.name} is published as asked for, and our resolver remembers until ${at(now + 900_000)} that it did not exist; nothing is left to do but wait.`,
  },
  {
    why: 'an old value that the resolver remembers',
    of: 'mx',
    breakIt: ({ dns, mx }) => dns.remember(mx.name, 'MX', ['10 mx.elsewhere.test'], 7200),
    says: ({ mx, now }) =>
      `The MX record at ${mx.name} is published as asked for, and our resolver remembers what stood there before until ${at(now + 7_200_000)}; nothing is left to do but wait.`,
  },
  {
    why: 'a resolver that refuses what the zone says',
    of: 'dkim',
    status: 'temporary_failure',
    breakIt: ({ dns, dkim }) => dns.remember(dkim.name, 'ANY', 'SERVFAIL'),
    says: ({ dkim }) =>
      `The TXT record at ${dkim.name} is published as asked for, but our resolver refuses what the zone says (SERVFAIL): its DNSSEC signatures may not fit the DS record at the registrar.`,
  },
  {
    why: 'name servers that disagree',
    of: 'spf',
    breakIt: ({ dns, second, spf, zone }) => {
      dns.set(zone, 'NS', [`ns1.${zone}`, `ns2.${zone}`]);
      dns.remember(spf.name, 'TXT', ['v=spf1 mx ~all']);
      second.set(zone, 'SOA', [`ns1.${zone} admin.${zone} 1 60`]);
      second.set(spf.name, 'TXT', ['v=spf1 mx ~all']);
    },
    says: ({ spf, zone }) =>
      `The name servers disagree: ns1.${zone} has the TXT record at ${spf.name} as asked for, ns2.${zone} has not; wait until it has reached all of them, or mend the transfer between them.`,
  },
  {
    why: 'one name server that does not know the zone, met by the resolver',
    of: 'spf',
    status: 'temporary_failure',
    breakIt: ({ dns, zone, spf }) => {
      dns.set(zone, 'NS', [`ns1.${zone}`, `ns2.${zone}`]);
      dns.remember(spf.name, 'ANY', 'SERVFAIL');
    },
    says: ({ zone }) =>
      `Of the name servers of ${zone}, ns2.${zone} does not know the zone (lame delegation), so our resolver finds nothing although the record stands on the others; take it out or mend it.`,
  },
  {
    why: 'only name servers that do not know the zone',
    of: 'dkim',
    status: 'temporary_failure',
    breakIt: ({ dns, zone, dkim }) => {
      dns.set(zone, 'NS', [`ns2.${zone}`]);
      dns.remember(dkim.name, 'ANY', 'SERVFAIL');
    },
    says: ({ dkim, zone }) =>
      `Of the name servers of ${zone}, ns2.${zone} does not know the zone (lame delegation), so nobody can look ${dkim.name} up; mend it or change the delegation at the registrar.`,
  },
  {
    why: 'only name servers that do not answer',
    of: 'dkim',
    isSilent: true,
    status: 'temporary_failure',
    breakIt: ({ dns, second, zone, dkim }) => {
      dns.set(zone, 'NS', [`ns2.${zone}`]);
      dns.remember(dkim.name, 'ANY', 'SERVFAIL');
      second.set(dkim.name, 'ANY', 'TIMEOUT');
    },
    says: ({ dkim, zone }) =>
      `Of the name servers of ${zone}, ns2.${zone} does not answer, so nobody can look ${dkim.name} up; mend it or change the delegation at the registrar.`,
  },
  {
    why: 'slow name servers of which our resolver remembers an answer',
    of: 'dkim',
    isSilent: true,
    status: 'pending',
    breakIt: ({ dns, second, zone, dkim }) => {
      dns.set(zone, 'NS', [`ns2.${zone}`]);
      dns.remember(dkim.name, 'TXT', 'NXDOMAIN');
      second.set(dkim.name, 'TXT', 'TIMEOUT');
    },
    says: ({ dkim, zone }) =>
      `Our resolver finds no TXT record at ${dkim.name}, and of the name servers of ${zone}, ns2.${zone} did not answer in time; publish the record shown, and if it is published, ask again in a minute.`,
  },
  {
    why: 'name servers and a resolver that are too slow',
    of: 'dkim',
    isSilent: true,
    status: 'temporary_failure',
    breakIt: ({ dns, second, zone, dkim }) => {
      dns.set(zone, 'NS', [`ns2.${zone}`]);
      dns.remember(dkim.name, 'TXT', 'TIMEOUT');
      second.set(dkim.name, 'TXT', 'TIMEOUT');
    },
    says: ({ dkim, zone }) =>
      `Of the name servers of ${zone}, ns2.${zone} did not answer in time, and our resolver gave no answer about ${dkim.name} either (timeout); ask again in a minute.`,
  },
  {
    why: 'only name servers that fail',
    of: 'dkim',
    status: 'temporary_failure',
    breakIt: ({ dns, second, zone, dkim }) => {
      dns.set(zone, 'NS', [`ns2.${zone}`]);
      dns.remember(dkim.name, 'ANY', 'SERVFAIL');
      second.set(dkim.name, 'ANY', 'SERVFAIL');
    },
    says: ({ dkim, zone }) =>
      `Of the name servers of ${zone}, ns2.${zone} answers with a failure of its own (SERVFAIL), so nobody can look ${dkim.name} up; mend it or change the delegation at the registrar.`,
  },
  {
    why: 'name servers without an address, or with one in a private network',
    of: 'dkim',
    status: 'pending',
    breakIt: ({ dns, zone, dkim }) => {
      dns.set(zone, 'NS', [`gone.${zone}`, `inner.${zone}`]);
      dns.set(`inner.${zone}`, 'A', ['10.0.0.53']);
      dns.forget(dkim.name);
    },
    says: ({ dkim, zone }) =>
      `Of the name servers of ${zone}, gone.${zone} has no address; inner.${zone} has an address that is not public, so nobody can look ${dkim.name} up; mend them or change the delegation at the registrar.`,
  },
  {
    why: 'a delegation that the resolver cannot follow, to a server that does not know the zone',
    of: 'dkim',
    status: 'temporary_failure',
    breakIt: ({ dns, second, zone, dkim, name }) => {
      dns.forget(dkim.name);
      dns.set(name, 'NS', [`ns2.${zone}`]);
      for (const broken of [dkim.name, `_domainkey.${name}`, name]) dns.remember(broken, 'ANY', 'SERVFAIL');
      second.set(dkim.name, 'ANY', 'REFUSED');
    },
    says: ({ dkim, zone, name }) =>
      `Of the name servers of ${name}, ns2.${zone} does not know the zone (lame delegation), so nobody can look ${dkim.name} up; mend it or change the delegation at the registrar.`,
  },
];
