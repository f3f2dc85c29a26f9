import { text, type BrokenZone, type Ground } from './broken-zone.ts';

const spfSays = (value: string, rest: (ground: Ground) => string, status = 'failed') => ({
  of: 'spf' as const,
  status,
  breakIt: ({ dns, spf }: Ground) => dns.set(spf.name, 'TXT', [value]),
  says: (ground: Ground) => `The SPF record at ${ground.spf.name} ${rest(ground)}`,
});

const includes = (count: number): string =>
  Array.from({ length: count }, (_, i) => `include:s${i}.senders.test`).join(' ');

export const BROKEN_SPF: BrokenZone[] = [
  {
    why: 'two SPF records',
    of: 'spf',
    breakIt: ({ dns, spf }) => dns.set(spf.name, 'TXT', [spf.value, 'v=spf1 mx -all']),
    says: ({ spf }) =>
      `There are 2 SPF records at ${spf.name}, which makes every check fail (RFC 7208 §4.5); join them into one.`,
  },
  {
    why: 'more than ten look-ups, most of them inside of what is included',
    ...spfSays(
      `v=spf1 a:rasket.test include:many.senders.test ~all`,
      () =>
        'needs 13 DNS look-ups or more, and beyond 10 every check fails (RFC 7208 §4.6.4); take includes out or replace them by addresses.',
    ),
    breakIt: ({ dns, spf }) => {
      dns.set(spf.name, 'TXT', ['v=spf1 a:rasket.test include:many.senders.test ~all']);
      dns.set('many.senders.test', 'TXT', text(`v=spf1 ${includes(11)} -all`));
      for (let i = 0; i < 11; i++) dns.set(`s${i}.senders.test`, 'TXT', ['v=spf1 ip4:192.0.2.1 -all']);
    },
  },
  {
    why: 'an SPF record that includes itself',
    of: 'spf',
    breakIt: ({ dns, spf }) => dns.set(spf.name, 'TXT', [`v=spf1 a:rasket.test include:${spf.name} ~all`]),
    says: ({ spf }) =>
      `The SPF record at ${spf.name} needs 30 DNS look-ups or more, and beyond 10 every check fails (RFC 7208 §4.6.4); take includes out or replace them by addresses.`,
  },
  {
    why: 'an SPF record of others only',
    ...spfSays('v=spf1 ip4:192.0.2.1 ~all', () => 'lacks a:rasket.test: it says "v=spf1 ip4:192.0.2.1 ~all".'),
  },
  {
    why: 'our term behind the end',
    ...spfSays(
      'v=spf1 -all a:rasket.test',
      () => 'has a:rasket.test behind "all", where nothing is read any more (RFC 7208 §5.1); put it before.',
    ),
  },
  {
    why: 'a mechanism with a typing error',
    ...spfSays(
      'v=spf1 a:rasket.test inlcude:example.net ~all',
      () => 'has the term "inlcude:example.net", which does not exist and makes every check fail (RFC 7208 §4.6).',
    ),
  },
  {
    why: 'an address that is none',
    ...spfSays(
      'v=spf1 a:rasket.test ip4:999.1.1.1 ~all',
      () =>
        'has the term "ip4:999.1.1.1", whose address or prefix length is not possible, which makes every check fail (RFC 7208 §4.6).',
    ),
  },
  {
    why: 'two redirects',
    ...spfSays(
      'v=spf1 a:rasket.test redirect=a.test redirect=b.test',
      () => 'has 2 redirect= terms, and more than one makes every check fail (RFC 7208 §6); keep one.',
    ),
  },
  {
    why: 'our term in an included record',
    ...spfSays(
      'v=spf1 include:own.senders.test ~all',
      () =>
        'lacks a:rasket.test: it says "v=spf1 include:own.senders.test ~all"; put it into this record itself, because what it includes or redirects to does not count here.',
    ),
  },
  {
    why: 'an SPF record without its version',
    of: 'spf',
    breakIt: ({ dns, spf }) => dns.set(spf.name, 'TXT', ['a:rasket.test ~all']),
    says: ({ spf }) =>
      `The TXT record at ${spf.name} says "a:rasket.test ~all", which is no SPF record because it does not begin with "v=spf1 ".`,
  },
  {
    why: 'a blank before the text',
    ...spfSays(' v=spf1 a:rasket.test ~all', () => 'has a blank before its first character; take the blank away.'),
  },
  {
    why: 'quotation marks that the panel kept',
    ...spfSays(
      '"v=spf1 a:rasket.test ~all"',
      () => 'has quotation marks that are part of the text; enter the value without them.',
    ),
  },
  {
    why: 'the quotation marks of a word processor',
    ...spfSays(
      '“v=spf1 a:rasket.test ~all”',
      () => 'has typographic quotation marks in it, as word processors make them; enter the value without any.',
    ),
  },
  {
    why: 'a whole line of a zone file',
    ...spfSays(
      'send IN TXT "v=spf1 a:rasket.test ~all"',
      () => 'is a whole line of a zone file (send IN TXT "v=spf1 a:rasket.…); enter only what stands behind TXT.',
    ),
  },
  {
    why: '+all, which is allowed',
    ...spfSays(
      'v=spf1 a:rasket.test +all',
      ({ name }) => `has +all, which lets everybody send in the name of ${name}; end it in ~all or -all.`,
      'verified',
    ),
  },
  {
    why: 'an include of a name without SPF',
    ...spfSays(
      'v=spf1 a:rasket.test include:gone.senders.test ~all',
      () => 'includes gone.senders.test, which has no SPF record, so a check that comes to it fails (RFC 7208 §5.2).',
      'verified',
    ),
  },
];
