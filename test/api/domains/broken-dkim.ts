import { relative, text, type BrokenZone, type Ground, type PublishedRecord } from './broken-zone.ts';

const readKey = (value: string): string => value.replace(/^.*p=/, '');
const readSelector = (record: PublishedRecord): string => record.name.split('.')[0] ?? '';
const dkimSays = (change: (value: string) => string, rest: (ground: Ground) => string) => ({
  of: 'dkim' as const,
  breakIt: ({ dns, dkim }: Ground) => dns.set(dkim.name, 'TXT', text(change(dkim.value))),
  says: rest,
});

/** Removes the DKIM record and publishes it elsewhere. */
const movedTo = (where: (ground: Ground) => string, how: (ground: Ground) => string) => ({
  of: 'dkim' as const,
  status: 'pending',
  breakIt: (ground: Ground) => {
    ground.dns.set(ground.dkim.name, 'TXT', 'NXDOMAIN');
    ground.dns.set(where(ground), 'TXT', text(ground.dkim.value));
  },
  says: (ground: Ground) => `The TXT record stands at ${where(ground)} instead of ${ground.dkim.name}: ${how(ground)}.`,
});

export const BROKEN_DKIM: BrokenZone[] = [
  {
    why: 'a key split by quotation marks inside the text',
    ...dkimSays(
      (value) => `${value.slice(0, 255)}" "${value.slice(255)}`,
      ({ dkim }) =>
        `The TXT record at ${dkim.name} has quotation marks inside the text where the value was split; enter it in one piece without quotation marks, and the DNS host splits it.`,
    ),
  },
  {
    why: 'a key cut off at 255 characters',
    ...dkimSays(
      (value) => value.slice(0, 255),
      ({ dkim }) =>
        `The DKIM key at ${dkim.name} is cut off: ${readKey(dkim.value.slice(0, 255)).length} of its ${readKey(dkim.value).length} characters are there; this panel ends a text at 255, so split the value into several strings of one record.`,
    ),
  },
  {
    why: 'a key spread over two records',
    of: 'dkim',
    breakIt: ({ dns, dkim }) => dns.set(dkim.name, 'TXT', [dkim.value.slice(255), dkim.value.slice(0, 255)]),
    says: ({ dkim }) =>
      `The key at ${dkim.name} is spread over 2 TXT records; it must be one TXT record, in one piece or as several strings of that record.`,
  },
  {
    why: 'another key of the same length',
    ...dkimSays(
      (value) => value.replace(/.{12}$/, 'AAAAAAAAAAAA'),
      ({ dkim }) =>
        `Another DKIM key stands at ${dkim.name}: its p= begins with "${readKey(dkim.value).slice(0, 24)}" and ends with "AAAAAAAA", ours ends with "${dkim.value.slice(-8)}".`,
    ),
  },
  {
    why: 'a revoked key',
    ...dkimSays(
      () => 'v=DKIM1; k=rsa; p=',
      ({ dkim }) =>
        `The DKIM key at ${dkim.name} is revoked: its p= is empty (RFC 6376 §3.6.1); publish the value shown.`,
    ),
  },
  {
    why: 'a key of another kind',
    ...dkimSays(
      () => 'v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
      ({ dkim }) => `The key at ${dkim.name} is of another kind: k=ed25519 where k=rsa is asked for.`,
    ),
  },
  {
    why: 'a key that allows another hash only',
    ...dkimSays(
      (value) => value.replace('k=rsa;', 'k=rsa; h=sha1;'),
      ({ dkim }) =>
        `The DKIM key at ${dkim.name} allows only h=sha1, and our mail is signed with sha256; take the h= tag out.`,
    ),
  },
  {
    why: 'a key for another service',
    ...dkimSays(
      (value) => value.replace('k=rsa;', 'k=rsa; s=other;'),
      ({ dkim }) => `The DKIM key at ${dkim.name} is for s=other only and not for email; take the s= tag out.`,
    ),
  },
  {
    why: 'a key in test mode, which is allowed',
    ...dkimSays(
      (value) => value.replace('k=rsa;', 'k=rsa; t=s:y;'),
      ({ dkim }) =>
        `The DKIM key at ${dkim.name} is in test mode (t=y), in which receivers may treat our mail as unsigned (RFC 6376 §3.6.1); take y out of its t= tag.`,
    ),
    status: 'verified',
  },
  {
    why: 'backslashes before the semicolons',
    ...dkimSays(
      (value) => value.replaceAll(';', '\\;'),
      ({ dkim }) =>
        `The TXT record at ${dkim.name} has backslashes in it, which this DNS host does not take for escapes; enter the value without them.`,
    ),
  },
  {
    why: 'a version that does not stand first',
    ...dkimSays(
      (value) => `${value.replace('v=DKIM1; ', '')}; v=DKIM1`,
      ({ dkim }) =>
        `The DKIM record at ${dkim.name} must begin with v=DKIM1 (RFC 6376 §3.6.1), and it begins with "${dkim.value.replace('v=DKIM1; ', '').slice(0, 20)}".`,
    ),
  },
  {
    why: 'a text that is no key',
    ...dkimSays(
      () => 'site-proof=\u001b[31mabc',
      ({ dkim }) =>
        `The TXT record at ${dkim.name} is no DKIM key: it says "site-proof=\uFFFD[31mabc"; publish the value shown.`,
    ),
  },
  {
    why: 'a selector with the key of the other one',
    of: 'dkim',
    breakIt: ({ dns, dkim, ed25519 }) => dns.set(dkim.name, 'TXT', text(ed25519.value)),
    says: ({ dkim }) => `The key at ${dkim.name} is of another kind: k=ed25519 where k=rsa is asked for.`,
  },
  {
    why: 'the zone name appended',
    ...movedTo(
      ({ dkim, zone }) => `${dkim.name}.${zone}`,
      (g) => `the DNS host appended ${g.zone} to the name; enter only ${relative(g, g.dkim)} there`,
    ),
  },
  {
    why: 'the domain appended',
    ...movedTo(
      ({ dkim, name }) => `${dkim.name}.${name}`,
      (g) => `${g.name} was appended to the name; enter only ${relative(g, g.dkim)} there`,
    ),
  },
  {
    why: 'a record at the apex',
    ...movedTo(
      ({ name }) => name,
      (g) => `its name was left out; enter ${relative(g, g.dkim)} as the name`,
    ),
  },
  {
    why: 'a name relative to the wrong zone',
    ...movedTo(
      ({ dkim, zone }) => `${readSelector(dkim)}._domainkey.${zone}`,
      (g) => `the name there must be ${relative(g, g.dkim)}, because the zone is ${g.zone}`,
    ),
  },
  {
    why: 'a missing underscore',
    ...movedTo(
      ({ dkim, name }) => `${readSelector(dkim)}.domainkey.${name}`,
      (g) => `its name lacks the underscore; enter ${relative(g, g.dkim)}`,
    ),
  },
  {
    why: 'a missing selector',
    ...movedTo(
      ({ name }) => `_domainkey.${name}`,
      (g) => `its name lacks the selector; enter ${relative(g, g.dkim)}`,
    ),
  },
  {
    why: 'a wrong selector',
    ...movedTo(
      ({ name }) => `default._domainkey.${name}`,
      (g) => `that is the wrong selector; enter ${relative(g, g.dkim)}`,
    ),
  },
  {
    why: 'an alias in the way',
    of: 'dkim',
    status: 'pending',
    breakIt: ({ dns, dkim }) => {
      dns.forget(dkim.name);
      dns.set(dkim.name, 'CNAME', ['keys.elsewhere.test']);
    },
    says: ({ dkim }) =>
      `${dkim.name} is an alias (CNAME) of keys.elsewhere.test, and where a CNAME stands no TXT record can (RFC 1034 §3.6.2); remove the CNAME record.`,
  },
  {
    why: 'a wildcard that answers',
    of: 'dkim',
    breakIt: ({ dns, dkim, name }) => {
      dns.forget(dkim.name);
      dns.set(`*._domainkey.${name}`, 'TXT', ['v=spf1 -all']);
    },
    says: ({ dkim, name }) =>
      `Nothing stands at ${dkim.name} itself: the wildcard *._domainkey.${name} answers for it with "v=spf1 -all"; publish the record shown, which goes before the wildcard.`,
  },
  {
    why: 'a wildcard that is an alias',
    of: 'dkim',
    status: 'pending',
    breakIt: ({ dns, dkim, name }) => {
      dns.forget(dkim.name);
      dns.set(`*._domainkey.${name}`, 'CNAME', ['park.elsewhere.test']);
    },
    says: ({ dkim, name }) =>
      `Nothing stands at ${dkim.name} itself: the wildcard *._domainkey.${name} answers for it with an alias (CNAME) of park.elsewhere.test; publish the record shown, which goes before the wildcard.`,
  },
];
