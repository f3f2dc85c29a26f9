import { relative, type BrokenZone, type Ground } from './broken-zone.ts';

const mxSays = (record: (ground: Ground) => string, rest: (ground: Ground) => string) => ({
  of: 'mx' as const,
  breakIt: (ground: Ground) => ground.dns.set(ground.mx.name, 'MX', [record(ground)]),
  says: rest,
});

export const BROKEN_HOSTS: BrokenZone[] = [
  {
    why: 'an MX of somebody else',
    ...mxSays(
      () => '10 mx.elsewhere.test',
      ({ mx }) => `The MX record at ${mx.name} names mx.elsewhere.test; it must name rasket.test with priority 10.`,
    ),
  },
  {
    why: 'a null MX',
    ...mxSays(
      () => '0 .',
      ({ mx }) =>
        `The MX record at ${mx.name} is a null MX (RFC 7505), which says that ${mx.name} takes no mail; it must name rasket.test.`,
    ),
  },
  {
    why: 'an MX with the zone appended to its host',
    ...mxSays(
      ({ zone }) => `10 rasket.test.${zone}`,
      ({ mx, zone }) =>
        `The DNS host appended the zone's name to the target of the MX record at ${mx.name}, which is now rasket.test.${zone}; enter rasket.test. with a dot at its end.`,
    ),
  },
  {
    why: 'an MX that names an address',
    ...mxSays(
      () => '10 192.0.2.7',
      ({ mx }) =>
        `The MX record at ${mx.name} names the address 192.0.2.7; an MX record names a host (RFC 1035 §3.3.9): rasket.test.`,
    ),
  },
  {
    why: 'an MX that names an alias of us',
    of: 'mx',
    breakIt: ({ dns, mx, zone }) => {
      dns.set(mx.name, 'MX', [`10 bounces.${zone}`]);
      dns.set(`bounces.${zone}`, 'CNAME', ['rasket.test']);
    },
    says: ({ mx, zone }) =>
      `The MX record at ${mx.name} names bounces.${zone}, which is an alias (CNAME) of rasket.test; an MX record must name the host itself (RFC 2181 §10.3).`,
  },
  {
    why: 'another MX before ours',
    of: 'mx',
    status: 'verified',
    breakIt: ({ dns, mx }) => dns.set(mx.name, 'MX', ['5 mx.elsewhere.test', '10 rasket.test']),
    says: ({ mx }) =>
      `At ${mx.name}, mx.elsewhere.test (5) comes before rasket.test (10), so its bounces will go there; give rasket.test the lowest number.`,
  },
  {
    why: 'another MX before ours at the domain itself, which then receives nothing',
    of: 'receiving',
    breakIt: ({ dns, name }) => dns.set(name, 'MX', ['5 mx.elsewhere.test', '10 rasket.test']),
    says: ({ name }) =>
      `At ${name}, mx.elsewhere.test (5) comes before rasket.test (10), so mail will go there; give rasket.test the lowest number.`,
  },
  {
    why: 'an @ that was taken for a name',
    of: 'receiving',
    status: 'pending',
    breakIt: ({ dns, name, zone }) => {
      dns.forget(name);
      dns.set(`@.${zone}`, 'MX', ['10 rasket.test']);
    },
    says: ({ name, zone }) =>
      `The MX record stands at @.${zone} instead of ${name}: this DNS host takes @ for a name; enter mail there.`,
  },
  {
    why: 'a tracking host that is a proxied record',
    of: 'tracking',
    status: 'pending',
    breakIt: ({ dns, tracking }) => {
      dns.forget(tracking.name);
      dns.set(tracking.name, 'A', ['104.21.3.4', '172.67.1.2']);
    },
    says: ({ tracking }) =>
      `${tracking.name} answers with addresses of a proxy (104.21.3.4 and 172.67.1.2) instead of its CNAME record; switch the proxy off for this record ("DNS only").`,
  },
  {
    why: 'a tracking host that is an address record, whose private address stays untold',
    of: 'tracking',
    status: 'pending',
    breakIt: ({ dns, tracking }) => {
      dns.forget(tracking.name);
      dns.set(tracking.name, 'A', ['10.1.2.3']);
    },
    says: ({ tracking }) =>
      `${tracking.name} has an A record (a private address) where a CNAME record to rasket.test is asked for; replace it.`,
  },
  {
    why: 'a tracking host with the zone appended to its target',
    of: 'tracking',
    breakIt: ({ dns, tracking, zone }) => dns.set(tracking.name, 'CNAME', [`rasket.test.${zone}`]),
    says: ({ tracking, zone }) =>
      `The DNS host appended the zone's name to the target of the CNAME record at ${tracking.name}, which is now rasket.test.${zone}; enter rasket.test. with a dot at its end.`,
  },
  {
    why: 'a tracking host that points elsewhere',
    of: 'tracking',
    breakIt: ({ dns, tracking }) => dns.set(tracking.name, 'CNAME', ['links.elsewhere.test']),
    says: ({ tracking }) =>
      `The CNAME record at ${tracking.name} points to links.elsewhere.test; it must point to rasket.test.`,
  },
  {
    why: 'CAA records that forbid the issuer, further up',
    of: 'caa',
    breakIt: ({ dns, zone }) => dns.set(zone, 'CAA', ['0 issue "ca.elsewhere.test"', '0 iodef "mailto:a@b.test"']),
    says: ({ zone, name }) =>
      `The CAA records at ${zone} let only ca.elsewhere.test issue certificates, so letsencrypt.org makes none for the hosts that point here; add 0 issue "letsencrypt.org" beside them, not alone at ${name}, which would shut ca.elsewhere.test out there.`,
  },
  {
    why: 'a CAA record that forbade the issuer, which the resolver remembers',
    of: 'caa',
    breakIt: ({ dns, zone }) => dns.remember(zone, 'CAA', ['0 issue "ca.elsewhere.test"'], 3600),
    says: ({ zone }) =>
      `Nothing at ${zone} forbids letsencrypt.org to issue certificates; nothing is left to do but wait until our resolver notices.`,
  },
  {
    why: 'a CAA record that forbids everybody',
    of: 'caa',
    breakIt: ({ dns, name }) => dns.set(name, 'CAA', ['0 issue ";"']),
    says: ({ name }) =>
      `The CAA records at ${name} let nobody issue certificates, so letsencrypt.org makes none for the hosts that point here; add 0 issue "letsencrypt.org" beside them.`,
  },
];

export const BROKEN_DMARC: BrokenZone[] = [
  {
    why: 'two DMARC records',
    of: 'dmarc',
    breakIt: ({ dns, dmarc }) => dns.set(dmarc.name, 'TXT', ['v=DMARC1; p=none', 'v=DMARC1; p=reject']),
    says: ({ dmarc }) => `There are 2 DMARC records at ${dmarc.name}, so receivers follow none of them; keep one.`,
  },
  {
    why: 'a DMARC record without its version',
    of: 'dmarc',
    breakIt: ({ dns, dmarc }) => dns.set(dmarc.name, 'TXT', ['p=reject; rua=mailto:a@b.test']),
    says: ({ dmarc }) =>
      `The TXT record at ${dmarc.name} says "p=reject; rua=mailto:a@b.test", which is no DMARC record because it does not begin with "v=DMARC1;".`,
  },
  {
    why: 'a DMARC record with a policy that does not exist',
    of: 'dmarc',
    breakIt: ({ dns, dmarc }) => dns.set(dmarc.name, 'TXT', ['v=DMARC1; p=block']),
    says: ({ dmarc }) => `The DMARC record at ${dmarc.name} has p="block"; p must be none, quarantine or reject.`,
  },
  {
    why: 'a DMARC record without the underscore',
    of: 'dmarc',
    status: 'pending',
    breakIt: ({ dns, dmarc, name }) => {
      dns.forget(dmarc.name);
      dns.set(`dmarc.${name}`, 'TXT', [dmarc.value]);
    },
    says: (g) =>
      `The TXT record stands at dmarc.${g.name} instead of ${g.dmarc.name}: its name lacks the underscore; enter ${relative(g, g.dmarc)}.`,
  },
  {
    why: 'a policy from further up',
    of: 'dmarc',
    status: 'pending',
    breakIt: ({ dns, dmarc, zone }) => {
      dns.forget(dmarc.name);
      dns.set(`_dmarc.${zone}`, 'TXT', ['v=DMARC1; p=quarantine; sp=reject']);
    },
    says: ({ name, zone }) =>
      `${name} has no DMARC record of its own, so the policy of _dmarc.${zone} holds for it: p=reject.`,
  },
  {
    why: 'DMARC that fails on alignment',
    of: 'dmarc',
    status: 'verified',
    breakIt: ({ dns, dmarc, dkim, ed25519 }) => {
      for (const { name } of [dkim, ed25519]) dns.set(name, 'TXT', 'NXDOMAIN');
      dns.set(dmarc.name, 'TXT', ['v=DMARC1; p=reject; aspf=s']);
    },
    says: ({ name, spf }) =>
      `Mail from ${name} fails DMARC and meets p=reject, because the DKIM record is not in place and aspf=s does not take SPF of ${spf.name} for ${name}; publish the DKIM record first.`,
  },
];
