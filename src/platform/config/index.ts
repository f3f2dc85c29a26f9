// The one configuration of an installation: config/default.toml, the profile, a file, the environment, overrides. Every
// value is checked before the program starts, and a ConfigFault lists all faults at once. It never reads process.env or
// a file that a setting names, remembers only where values come from, and never shows a secret, neither in a fault nor in showConfig.
export { ConfigFault, loadConfig, type ConfigInput } from './load-config.ts';
export { isForBroadcastsOnly, listBroadcastPools, usedRelays, usedSources, warnOfDnssecPath } from './cross-checks.ts';
export { tsigSecretIn } from './network-kinds.ts';
export {
  isPlan,
  computeMonthlyLimit,
  planNamed,
  readMember,
  type Config,
  type DeepPartial,
  type DnsProviderSettings,
  type Plan,
  type PoolSettings,
  type ProviderSettings,
  type Region,
  type RelaySettings,
  type Source,
  type SourceSettings,
  type Sources,
  isSimulatorDomain,
  listSimulatorDomains,
} from './settings.ts';
export { describeSetting, holdsSecret, locateSetting, showConfig } from './show-config.ts';
export { CHECKS } from './doctor-settings.ts';
export { normalizeHost, PROVIDERS_FILE, shippedProviders } from './provider-settings.ts';
