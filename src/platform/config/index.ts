// The one configuration of an installation: config/default.toml, the profile, a file, the environment, overrides.
// Promises: every value is checked before the program starts, and a ConfigFault lists all faults at once.
// Never: reads process.env or a file that a setting names, keeps state, or shows a secret, neither in a fault nor in showConfig.
export { ConfigFault } from './config-fault.ts';
export { loadConfig } from './load-config.ts';
export type { ConfigInput } from './load-config.ts';
export { usedRelays } from './cross-checks.ts';
export { tsigSecretIn } from './network-kinds.ts';
export { readPostgresUrl } from './postgres-url.ts';
export { isPlan, monthlyLimitOf, planNamed } from './plan-named.ts';
export { placeOf } from './place-of.ts';
export type {
  Config,
  DeepPartial,
  DnsProviderSettings,
  Plan,
  Region,
  RelaySettings,
  Source,
  Sources,
} from './settings.ts';
export { isSimulatorDomain, listSimulatorDomains } from './simulator.ts';
export { showConfig } from './show-config.ts';
