import type { EmailFacts, Meaning } from './facts.ts';

export interface Diagnosis {
  summary: string;
  likely_causes: string[];
  next_steps: string[];
}

const LINES_MAX = 10;

/** What this server knows by itself of what became of an email. A model gets it to put into words. */
export function diagnose(facts: EmailFacts): Diagnosis {
  const troubles = troublesOf(facts);
  const causes = troubles.map(({ domain, meaning, code }) => `${at(domain)}${meaning}${code ? ` (${code})` : ''}`);
  const steps = [
    ...troubles.flatMap(({ advice }) => (advice === null ? [] : [advice])),
    ...facts.pending.map(nextOf),
    ...facts.suppressed.map(suppressedStep(facts)),
  ];
  return {
    summary: `${SUMMARIES[facts.state] ?? SUMMARIES['other']} ${recipientsInWords(facts)}`,
    likely_causes: firstOnes([...causes, ...(facts.state === 'complained' ? [COMPLAINT] : [])]),
    next_steps: firstOnes(steps.length > 0 ? steps : ['Nothing to do.']),
  };
}

const SUMMARIES: Readonly<Record<string, string>> = {
  queued: 'It was accepted and has not been sent yet.',
  scheduled: 'It was accepted, to be sent later.',
  sent: 'Its delivery has begun, and nobody has taken it yet.',
  delivered: 'It was delivered.',
  delivery_delayed: 'Its delivery is delayed.',
  bounced: 'It bounced.',
  complained: 'It was delivered, and a recipient marked it as spam.',
  suppressed: 'It was not sent, because the address is suppressed.',
  failed: 'It could not be sent.',
  canceled: 'It was canceled before it was sent.',
  opened: 'It was delivered and opened.',
  clicked: 'It was delivered, and a link in it was clicked.',
  unsubscribed: 'It was delivered, and its reader unsubscribed.',
  other: 'It is in a state that has no name here.',
};

const COMPLAINT = 'A recipient marked it as spam: they did not expect it, or could not find how to leave.';

interface Trouble extends Meaning {
  domain: string | undefined;
}

/** The last that came of each recipient, where that is no delivery; what events alone tell, too. */
function troublesOf({ events, attempts, recipients }: EmailFacts): Trouble[] {
  const domainOf = (number: number): string | undefined => recipients.find((one) => one.number === number)?.domain;
  const latest = new Map<string, Trouble>();
  for (const { domain, results } of attempts)
    for (const { recipient, ...result } of results) latest.set(`${domain} ${recipient}`, { ...result, domain });
  const ended = [...latest.values()].filter(({ outcome }) => outcome !== 'delivered');
  const told = events.flatMap(({ result, recipients: to }) =>
    result === undefined ? [] : [{ ...result, domain: domainOf(to[0] ?? 0) }],
  );
  const known = new Set(ended.map(keyOf));
  return distinct([...ended, ...told.filter((trouble) => !known.has(keyOf(trouble)))]);
}

const keyOf = ({ domain, outcome }: Trouble): string => `${domain} ${outcome}`;

function distinct(troubles: readonly Trouble[]): Trouble[] {
  return [...new Map(troubles.map((one) => [`${one.domain} ${one.meaning}`, one])).values()];
}

const at = (domain: string | undefined): string => (domain === undefined ? '' : `${domain}: `);

const NEXT: Readonly<Record<string, string>> = {
  waiting: 'is tried again by itself',
  under_way: 'is being tried at this moment',
  in_doubt: 'may have it or not; it is never sent twice',
  awaits_domain: 'waits until the sending domain is verified again',
  held: 'is held by the operator of this server',
};

const nextOf = ({ domain, state, until }: EmailFacts['pending'][number]): string =>
  `${domain} ${NEXT[state] ?? 'is still open'}${until === null ? '' : ` (${until})`}.`;

const suppressedStep =
  ({ recipients }: EmailFacts) =>
  ({ recipient, because }: EmailFacts['suppressed'][number]): string => {
    const domain = recipients.find(({ number }) => number === recipient)?.domain;
    return `A recipient${domain === undefined ? '' : ` at ${domain}`} is suppressed (${because}): take the address off the list of suppressions if it is good again.`;
  };

function recipientsInWords({ recipients }: EmailFacts): string {
  const domains = [...new Set(recipients.map(({ domain }) => domain))];
  const many = recipients.length === 1 ? 'one recipient' : `${recipients.length} recipients`;
  const shown = domains.slice(0, LINES_MAX).join(', ');
  return `It has ${many}, at ${shown}${domains.length > LINES_MAX ? ' and others' : ''}.`;
}

const firstOnes = (lines: readonly string[]): string[] => [...new Set(lines)].slice(0, LINES_MAX);
