import type { AnswerOf } from '../../contract/index.ts';

export type RuleName = AnswerOf<'getSenderRules'>['data'][number]['rules'][number]['rule'];

export interface SenderRule {
  rule: RuleName;
  appliesTo: 'all' | 'bulk';
  consequence: string;
  /** The beginning of the reply to mail that does not meet the rule; null if none is published. */
  reply: string | null;
  /** The page with the rule. */
  source: string;
}

export interface ProviderRules {
  /** The name of a provider in config/providers.toml. */
  provider: string;
  /** Messages a day from which the rules for bulk senders hold; null if there is no such number. */
  threshold: number | null;
  /** The provider counts the mail of all names below a registered name together. */
  isCountedByPrimaryDomain: boolean;
  rules: readonly SenderRule[];
}

const GOOGLE = 'https://support.google.com/a/answer/81126';
const YAHOO = 'https://senders.yahooinc.com/best-practices/';
const MICROSOFT = 'https://sendersupport.olc.protection.outlook.com/pm/policies.aspx';
// La Poste itself has no public page.
const LA_POSTE = 'https://emailkarma.net/laposte-tightens-email-authentication-rules';

const GOOGLE_DEFERS = 'Gmail defers such mail, and refuses part of it.';
const YAHOO_SAYS_NOTHING = 'Yahoo may defer such mail or put it into the spam folder.';
const MICROSOFT_REFUSES = 'Outlook.com refuses such mail.';

const buildGoogleRule = (
  appliesTo: SenderRule['appliesTo'],
  rule: RuleName,
  reply: string | null,
  consequence = GOOGLE_DEFERS,
): SenderRule => ({ rule, appliesTo, consequence, reply, source: GOOGLE });

const buildYahooRule = (
  appliesTo: SenderRule['appliesTo'],
  rule: RuleName,
  reply: string | null = null,
  consequence = YAHOO_SAYS_NOTHING,
): SenderRule => ({ rule, appliesTo, consequence, reply, source: YAHOO });

const buildMicrosoftRule = (rule: RuleName): SenderRule => ({
  rule,
  appliesTo: 'bulk',
  consequence: MICROSOFT_REFUSES,
  reply: '550 5.7.515',
  source: MICROSOFT,
});

/**
 * The rules that mailbox providers publish for senders, as of November 2026. Replies are those of config/replies.toml. Google
 * enforces its rules with refusals since November 2025, Microsoft since 5 May 2025, and La Poste since 9 September 2025.
 */
export const PROVIDER_RULES: readonly ProviderRules[] = [
  {
    provider: 'google',
    threshold: 5000,
    isCountedByPrimaryDomain: true,
    rules: [
      buildGoogleRule('all', 'spf_or_dkim', '550 5.7.26', 'Gmail refuses such mail.'),
      buildGoogleRule('all', 'reverse_dns', '421 4.7.23', 'Gmail defers such mail, or refuses it (550 5.7.25).'),
      buildGoogleRule('all', 'tls', '421 4.7.29'),
      buildGoogleRule(
        'all',
        'spam_rate',
        null,
        'Gmail puts such mail into the spam folder, and helps nobody whose rate is 0.3 % or more.',
      ),
      buildGoogleRule('bulk', 'spf', '421 4.7.27'),
      buildGoogleRule('bulk', 'dkim', '421 4.7.30'),
      buildGoogleRule('bulk', 'dmarc', '421 4.7.40'),
      buildGoogleRule('bulk', 'alignment', '421 4.7.32'),
      buildGoogleRule('bulk', 'one_click_unsubscribe', null, 'Gmail puts such mail into the spam folder.'),
    ],
  },
  {
    provider: 'yahoo',
    // Yahoo publishes no number.
    threshold: 5000,
    isCountedByPrimaryDomain: true,
    rules: [
      buildYahooRule('all', 'spf_or_dkim', '554 5.7.5 (AU01)', 'Yahoo refuses such mail.'),
      buildYahooRule('all', 'reverse_dns'),
      buildYahooRule('all', 'tls'),
      buildYahooRule(
        'all',
        'spam_rate',
        '421 4.7.0 [TSS04]',
        'Yahoo defers all mail of the address that it came from.',
      ),
      buildYahooRule('bulk', 'spf'),
      buildYahooRule('bulk', 'dkim', '554 5.7.5 (AU01)', 'Yahoo refuses such mail.'),
      buildYahooRule('bulk', 'dmarc'),
      buildYahooRule('bulk', 'alignment'),
      buildYahooRule('bulk', 'one_click_unsubscribe'),
    ],
  },
  {
    provider: 'microsoft-consumer',
    threshold: 5000,
    isCountedByPrimaryDomain: false,
    rules: [
      buildMicrosoftRule('spf'),
      buildMicrosoftRule('dkim'),
      buildMicrosoftRule('dmarc'),
      buildMicrosoftRule('alignment'),
    ],
  },
  {
    provider: 'laposte',
    threshold: null,
    isCountedByPrimaryDomain: false,
    rules: [
      {
        rule: 'alignment',
        appliesTo: 'all',
        consequence: 'La Poste puts such mail into the spam folder, or refuses it.',
        reply: null,
        source: LA_POSTE,
      },
    ],
  },
];
