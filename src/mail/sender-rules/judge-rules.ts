import { isRateHigh, RATE_LIMITS } from '../../contract/index.ts';
import type { Fact, Facts, MailFacts } from './read-facts.ts';
import type { ProviderRules, RuleName, SenderRule } from './rule-table.ts';

export type Level = 'below' | 'near' | 'over';

/** Mail from this share of the threshold is near it. */
const NEAR_SHARE = 0.8;

export const isNear = (recipients: number, threshold: number): boolean => recipients >= threshold * NEAR_SHARE;

interface Context {
  facts: Facts;
  mail: MailFacts;
  title: string;
  level: Level;
}

type Judged = Fact & { toDo: string | null };

/** Judges the rules of a provider, whose name for people is `title`. */
export function judgeProvider(facts: Facts, { provider, threshold, isCountedByPrimaryDomain, rules }: ProviderRules) {
  const mail = facts.mailTo(provider, isCountedByPrimaryDomain);
  const level = judgeLevel(mail, threshold);
  const title = facts.config.providers[provider]?.title ?? provider;
  return {
    provider,
    provider_title: title,
    threshold,
    level,
    volume: { last_24_hours: mail.last24Hours, largest_day: mail.largestDay },
    rules: rules.map((rule) => presentRule(rule, JUDGES[rule.rule]({ facts, mail, title, level }))),
  };
}

function judgeLevel({ last24Hours, largestDay }: MailFacts, threshold: number | null): Level {
  if (threshold === null) return 'below';
  const most = Math.max(last24Hours, largestDay);
  if (most >= threshold) return 'over';
  return isNear(most, threshold) ? 'near' : 'below';
}

const presentRule = ({ rule, appliesTo, consequence, reply, source }: SenderRule, judged: Judged) => ({
  rule,
  applies_to: appliesTo,
  state: judged.state,
  fact: judged.says,
  consequence,
  reply,
  to_do: judged.state === 'met' ? null : judged.toDo,
  source,
});

const showRecords = ({ domain }: Facts): string => `\`rasket domains get ${domain.name}\``;

const publish = (facts: Facts, kind: string): string => `Publish the ${kind} record that ${showRecords(facts)} shows.`;

/** The advice for a fact that is missing is to get it. */
const advise = (facts: Facts, { state }: Fact, toDo: string): string =>
  state === 'not_known' ? `Look the records up with \`rasket domains verify ${facts.domain.name}\`.` : toDo;

const JUDGES: Readonly<Record<RuleName, (context: Context) => Judged>> = {
  spf: ({ facts }) => ({ ...facts.auth.spf, toDo: advise(facts, facts.auth.spf, publish(facts, 'SPF')) }),
  dkim: ({ facts }) => ({ ...facts.auth.dkim, toDo: advise(facts, facts.auth.dkim, publish(facts, 'DKIM')) }),
  dmarc: ({ facts }) => ({
    ...facts.auth.dmarc,
    toDo: advise(
      facts,
      facts.auth.dmarc,
      `Publish the DMARC record that ${showRecords(facts)} shows; p=none is enough.`,
    ),
  }),
  spf_or_dkim: judgeEither,
  alignment: judgeAlignment,
  reverse_dns: judgeReverseDns,
  tls: judgeTls,
  spam_rate: judgeSpamRate,
  one_click_unsubscribe: judgeUnsubscribe,
};

/** One of two facts is enough. */
function combine(one: Fact, other: Fact): Fact {
  const best =
    [one, other].find(({ state }) => state === 'met') ?? [one, other].find(({ state }) => state === 'not_known');
  return best ?? { state: 'unmet', says: `${one.says} ${other.says}` };
}

function judgeEither({ facts, mail, title }: Context): Judged {
  const fact = combine(facts.auth.dkim, facts.auth.spf);
  return {
    state: fact.state,
    says: addRefusals(fact.says, mail, title),
    toDo: advise(facts, fact, publish(facts, 'DKIM')),
  };
}

/**
 * Mail is signed for the domain itself, which is aligned in every mode. Its return path is a subdomain, which is aligned unless
 * the DMARC policy is strict about SPF.
 */
function judgeAlignment({ facts, mail, title }: Context): Judged {
  const { dkim, spf, isSpfStrict } = facts.auth;
  const { name } = facts.domain;
  const strict: Fact = {
    state: 'unmet',
    says: `The DMARC policy has aspf=s, which does not accept SPF of the return path for ${name}.`,
  };
  const fact = combine(dkim, isSpfStrict ? strict : spf);
  const says =
    fact.state === 'met'
      ? `${fact === dkim ? 'The signature is that of' : 'SPF passes for a subdomain of'} ${name}, the domain in From.`
      : fact.says;
  return {
    state: fact.state,
    says: addRefusals(says, mail, title),
    toDo: advise(facts, fact, publish(facts, 'DKIM')),
  };
}

function addRefusals(says: string, mail: MailFacts, title: string): string {
  const refused = mail.refusedToday('authentication');
  return refused === 0
    ? says
    : `${says} ${title} refused ${countRecipients(refused)} for lack of authentication today.`;
}

const countRecipients = (count: number): string => `${count} ${count === 1 ? 'recipient' : 'recipients'}`;

function judgeReverseDns({ facts, mail, title }: Context): Judged {
  const toDo =
    facts.reverseDns.state === 'not_known'
      ? 'Ask the operator of this server to run `rasket doctor`.'
      : 'Ask the operator of this server to set the names that `rasket doctor` shows.';
  const refused = mail.refusedToday('ptr_helo');
  if (refused === 0 || facts.reverseDns.state === 'unmet') return { ...facts.reverseDns, toDo };
  return {
    state: 'unmet',
    says: `${title} refused ${countRecipients(refused)} because of the name of an address today.`,
    toDo: 'Ask the operator of this server to set the names that `rasket doctor` shows.',
  };
}

function judgeTls({ mail, title }: Context): Judged {
  const refused = mail.refusedToday('tls_required');
  if (refused === 0)
    return {
      state: 'met',
      says: `Mail is sent over TLS to every server that offers it, as those of ${title} do.`,
      toDo: null,
    };
  return {
    state: 'unmet',
    says: `${title} refused ${countRecipients(refused)} because the mail came without TLS today.`,
    toDo: 'Ask the operator of this server what `rasket explain` shows about the TLS of such an email.',
  };
}

const SPAM_LIMIT = `${RATE_LIMITS.complained.percent} %`;

/** Gmail reports no single complaint, and others report them only to senders who registered. */
function judgeSpamRate({ facts, mail, title }: Context): Judged {
  const { accepted, complained } = mail;
  if (complained === 0)
    return {
      state: 'not_known',
      says: `No complaint from ${title} has arrived within seven days, which may mean that it sends none to this server.`,
      toDo: `Read the spam rate of ${facts.primaryDomain} in the panel for senders of ${title}; it has to stay below ${SPAM_LIMIT}.`,
    };
  const share = Math.min(100, Math.round((complained * 10_000) / Math.max(1, accepted)) / 100);
  const says = `${complained} of ${countRecipients(accepted)} (${share} %) reported mail as spam within seven days; the limit is ${SPAM_LIMIT}.`;
  if (isRateHigh({ bad: complained, of: accepted }, RATE_LIMITS.complained))
    return {
      state: 'unmet',
      says,
      toDo: 'Send only to people who asked for your mail, and make it easy to unsubscribe.',
    };
  return { state: 'met', says, toDo: null };
}

/** Broadcasts and automations always have the headers; RFC 8058 requires an https address in them. */
function judgeUnsubscribe({ facts, mail, level, title }: Context): Judged {
  if (!facts.linkOrigin.startsWith('https://'))
    return {
      state: 'unmet',
      says: `The unsubscribe links of marketing mail begin with ${facts.linkOrigin}, which is no https address.`,
      toDo: 'Ask the operator of this server to set http.public_url, and tracking.scheme if the domain is tracked, to https.',
    };
  if (level !== 'below' && mail.transactional24Hours > 0)
    return {
      state: 'not_known',
      says: `${countRecipients(mail.transactional24Hours)} at ${title} got mail outside of broadcasts and marketing automations within 24 hours, and only those add the headers.`,
      toDo: 'Send marketing mail as a broadcast or an automation, or by SMTP with List-Unsubscribe and List-Unsubscribe-Post headers of your own.',
    };
  return {
    state: 'met',
    says: 'Broadcasts and marketing automations have List-Unsubscribe and List-Unsubscribe-Post headers, which are signed.',
    toDo: null,
  };
}
