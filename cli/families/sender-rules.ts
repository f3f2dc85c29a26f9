import { declareAction, declareFamily, type AnswerOf } from './family.ts';
import { grouped } from './field-value.ts';

type SenderRules = AnswerOf<'getSenderRules'>;
type OfProvider = SenderRules['data'][number];
type Rule = OfProvider['rules'][number];

const STATES = { met: 'met', unmet: 'not met', not_known: 'not known' } as const satisfies Record<
  Rule['state'],
  string
>;

/** Says how much mail a provider got, and which of its rules hold for so much. */
function describeVolume({ provider_title: title, threshold, level, volume }: OfProvider): string {
  const mail = `${grouped(volume.last_24_hours)} recipients within 24 hours, ${grouped(volume.largest_day)} on the largest of seven days`;
  if (threshold === null) return `${title}: ${mail}; the rules hold for all senders.`;
  const where = { below: 'below', near: 'near', over: 'above' }[level];
  return `${title}: ${mail}; ${where} ${grouped(threshold)} a day, from which the rules for bulk senders hold.`;
}

function describeRule({ rule, applies_to: whom, state, fact, consequence, reply, to_do: toDo }: Rule): string {
  const name = `${rule}${whom === 'bulk' ? ' (bulk senders)' : ''}`;
  if (state === 'met') return `  ${STATES[state]}: ${name}. ${fact}`;
  const replied = reply === null ? '' : ` The reply begins with ${reply}.`;
  return `  ${STATES[state]}: ${name}. ${fact} ${consequence}${replied}${toDo === null ? '' : ` ${toDo}`}`;
}

/** Describes the rules of each provider in lines, those that are not met first. */
function describeAll({ domain_name: name, primary_domain: primary, data }: SenderRules): string {
  const order = ['unmet', 'not_known', 'met'];
  const heading = primary === name ? `${name}.` : `${name}, below ${primary}.`;
  return [
    heading,
    ...data.flatMap((provider) => [
      '',
      describeVolume(provider),
      ...provider.rules
        .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
        .map((rule) => describeRule(rule)),
    ]),
  ].join('\n');
}

/** The rules are spoken of with the domain. */
export const senderRules = declareFamily({
  summary: 'check a domain against the rules of mailbox providers',
  noun: 'a rule',
  actions: [declareAction('getSenderRules', { describe: describeAll })],
});
