import { mxOf } from './host-rules.ts';
import { questionKey, type Answer, type FurtherQuestion, type Wanted } from './observations.ts';

export interface Misplacement {
  name: string;
  /** The end of a sentence: how the record came to stand there, and what to do. */
  how: string;
}

const DNS_NAME_CHARS_MAX = 253;

/** Where a record ends up when the panel or the person took its name for something else. */
export function misplacements(wanted: Wanted, zone: string): Misplacement[] {
  const { name, domain } = wanted;
  const isOwnName = name === domain;
  const label = isOwnName ? '' : name.slice(0, -domain.length - 1);
  const relative = name === zone ? '@' : name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
  const places: (Misplacement | false)[] = [
    { name: `${name}.${zone}`, how: `the DNS host appended ${zone} to the name; enter only ${relative} there` },
    { name: `${name}.${domain}`, how: `${domain} was appended to the name; enter only ${relative} there` },
    isOwnName && {
      name: `@.${zone}`,
      how: `this DNS host takes @ for a name; ${relative === '@' ? 'leave the name empty' : `enter ${relative} there`}`,
    },
    !isOwnName &&
      domain !== zone && {
        name: `${label}.${zone}`,
        how: `the name there must be ${relative}, because the zone is ${zone}`,
      },
    !isOwnName && { name: domain, how: `its name was left out; enter ${relative} as the name` },
    domain !== zone && { name: zone, how: `its name was left out; enter ${relative} as the name` },
    ...dkimPlaces(wanted, label, relative),
    wanted.record === 'DMARC' && { name: `dmarc.${domain}`, how: `its name lacks the underscore; enter ${relative}` },
  ];
  const seen = new Set([name]);
  return places.filter((place): place is Misplacement => {
    if (!place || seen.has(place.name) || isPolicyAbove(wanted, place.name) || place.name.length > DNS_NAME_CHARS_MAX)
      return false;
    seen.add(place.name);
    return true;
  });
}

/** A DMARC record further up stands there in its own right. */
const isPolicyAbove = (wanted: Wanted, name: string): boolean =>
  wanted.record === 'DMARC' && parents(wanted.domain).some((parent) => name === `_dmarc.${parent}`);

function dkimPlaces(wanted: Wanted, label: string, relative: string): Misplacement[] {
  const [selector = '', marker] = label.split('.');
  if (wanted.record !== 'DKIM' || marker !== '_domainkey') return [];
  return [
    { name: `${selector}.domainkey.${wanted.domain}`, how: `its name lacks the underscore; enter ${relative}` },
    { name: `${selector}.${wanted.domain}`, how: `its name lacks _domainkey; enter ${relative}` },
    { name: `_domainkey.${wanted.domain}`, how: `its name lacks the selector; enter ${relative}` },
    { name: `default._domainkey.${wanted.domain}`, how: `that is the wrong selector; enter ${relative}` },
  ];
}

/** A name that does not exist, so that only a wildcard answers for it. */
export const probeName = (wanted: Wanted, word: string): string =>
  `${word}.${wanted.name.split('.').slice(1).join('.')}`;

/**
 * What to ask beside the record itself once it is known not to be right. Bounded: at most a dozen questions, whatever the
 * first answer was.
 */
export function furtherQuestions(wanted: Wanted, zone: string, answer: Answer, word: string): FurtherQuestion[] {
  const { type, name, domain } = wanted;
  const questions: FurtherQuestion[] = [{ name: probeName(wanted, word), type }];
  if (answer.kind !== 'found')
    questions.push(...misplacements(wanted, zone).map((place) => ({ name: place.name, type })));
  if (type === 'CNAME') questions.push({ name, type: 'A' });
  else questions.push({ name, type: 'CNAME' });
  if (type === 'MX' && answer.kind === 'found') {
    const hosts = answer.records
      .slice(0, 3)
      .map((record) => mxOf(record).host)
      .filter((host) => host.length > 1);
    questions.push(...hosts.map((host) => ({ name: host, type: 'CNAME' as const })));
  }
  if (wanted.record === 'DMARC')
    questions.push(...parents(domain).map((parent) => ({ name: `_dmarc.${parent}`, type })));
  const seen = new Set<string>();
  return questions
    .filter((question) => !seen.has(questionKey(question)) && seen.add(questionKey(question)))
    .slice(0, 14);
}

/** The names above a domain that have a dot in them, at most three. */
export function parents(domain: string): string[] {
  const labels = domain.split('.');
  return labels
    .slice(1, -1)
    .map((_, at) => labels.slice(at + 1).join('.'))
    .slice(0, 3);
}
