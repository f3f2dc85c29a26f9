/**
 * Mailbox providers: the limits that hold for mail to them, by config/providers.toml and the settings, and the reactions
 * to their replies. It keeps no state and counts nothing.
 */
import { parse } from 'smol-toml';
import { readProgramText } from '../../program-files/index.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { PROVIDERS_FILE, shippedProviders, type Config, type ProviderSettings } from '../config/index.ts';
import { createProviderIndex } from './find-provider.ts';
import { findReactions, readReactions, type Reaction, type ReactionRule } from './reactions.ts';

export type { Action, Reaction } from './reactions.ts';

export interface ProviderLimits {
  /** Connections of one source to all sites of the provider together; undefined for no limit. */
  connections: number | undefined;
  /** Connections of one source to one set of mail servers. */
  connectionsPerSite: number;
  messagesPerConnection: number;
  messagesPerMinute: number | undefined;
  /** Messages that may go at once before `messagesPerMinute` spaces them. */
  messageBurst: number;
  connectionsPerMinute: number | undefined;
  connectionBurst: number;
  idleMs: number;
  /** The family to try first; `auto` leaves it to the region. */
  family: 'auto' | 'ipv4' | 'ipv6';
  tls: 'opportunistic' | 'required';
}

export interface Provider {
  name: string;
  title: string;
  limits: ProviderLimits;
}

export interface ProviderPolicies {
  /** The limits for receivers without a provider. */
  defaults: ProviderLimits;
  /** Providers whose customers write some of the texts of refusals: rules for every receiver say nothing about all of them. */
  customerTexts: ReadonlySet<string>;
  all: readonly Provider[];
  /** Returns the provider that names the recipient domain, or whose mail servers include every one of these hosts. */
  find(domain: string, mxHosts: readonly string[]): Provider | undefined;
  /**
   * Returns the reactions that a reply triggers, those of the provider and general ones: at most one for each kind of
   * action and scope, and of two the provider's. Call it once for each reply that a server gave to this program, not
   * for outcomes that repeat one.
   */
  reactionsTo(provider: string | undefined, reply: Reply, cause: ReplyCause | undefined): Reaction[];
}

let shippedReactions: readonly ReactionRule[] | undefined;

/** Creates the policies by the shipped file and the settings. */
export function createProviderPolicies(config: Config): ProviderPolicies {
  const rules = (shippedReactions ??= readReactions(readProgramText(PROVIDERS_FILE)));
  const all = Object.entries(config.providers).map(([name, settings]): Provider => ({
    name,
    title: settings.title,
    limits: readLimits(settings),
  }));
  const byName = new Map(all.map((provider) => [provider.name, provider]));
  const find = createProviderIndex(config.providers);
  return {
    defaults: readDefaults(config),
    customerTexts: readCustomerTexts(),
    all,
    find(domain, mxHosts) {
      const name = find(domain, mxHosts);
      return name === undefined ? undefined : byName.get(name);
    },
    reactionsTo: (provider, reply, cause) => findReactions(rules, provider, reply, cause).map(withoutConditions),
  };
}

let customerTexts: ReadonlySet<string> | undefined;

/** Returns the providers whose customers write some of the texts of refusals, by the shipped file. */
export const readCustomerTexts = (): ReadonlySet<string> => (customerTexts ??= parseCustomerTexts());

function parseCustomerTexts(): Set<string> {
  const { customer_texts: texts = [], customer_quotes: quotes = [] } = parse(readProgramText(PROVIDERS_FILE)) as {
    customer_texts?: string[];
    customer_quotes?: string[];
  };
  return new Set([...texts, ...quotes]);
}

type Limits = Omit<ProviderSettings, 'title' | 'mx' | 'domains'>;

function readLimits(settings: Limits): ProviderLimits {
  return {
    connections: settings.connections ?? undefined,
    connectionsPerSite: settings.connections_per_site,
    messagesPerConnection: settings.messages_per_connection,
    messagesPerMinute: settings.messages_per_minute ?? undefined,
    messageBurst: settings.message_burst,
    connectionsPerMinute: settings.connections_per_minute ?? undefined,
    connectionBurst: settings.connection_burst,
    idleMs: settings.idle_seconds * 1000,
    family: settings.address_family,
    tls: settings.tls,
  };
}

function readDefaults({ delivery }: Config): ProviderLimits {
  return readLimits({
    // Every field was read by its kind and none is missing, which is what the type says.
    ...(Object.fromEntries(shippedProviders().defaults) as unknown as Limits),
    connections_per_site: delivery.max_connections_per_destination,
    messages_per_connection: delivery.max_messages_per_connection,
    idle_seconds: delivery.idle_seconds,
  });
}

function withoutConditions({ id, provider, scope, action, matches, withinMs, durationMs }: ReactionRule): Reaction {
  return { id, provider, scope, action, matches, withinMs, durationMs };
}
