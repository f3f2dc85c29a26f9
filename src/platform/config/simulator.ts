import type { Config } from './settings.ts';

/** Whose test addresses applications that come from Resend send to. In production it is a domain like all others. */
const RESEND_TEST_DOMAIN = 'resend.dev';

/** The domains whose addresses the mailbox simulator answers for. */
export const listSimulatorDomains = ({ instance, profile }: Pick<Config, 'instance' | 'profile'>): string[] => [
  `simulator.${instance.host}`.toLowerCase(),
  ...(profile === 'development' ? [RESEND_TEST_DOMAIN] : []),
];

export const isSimulatorDomain = (config: Pick<Config, 'instance' | 'profile'>, name: string): boolean =>
  listSimulatorDomains(config).includes(name);
