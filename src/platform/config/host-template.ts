import * as network from './network-kinds.ts';

export function isHostTemplate(value: string): boolean {
  return hasOnlyHostPlaceholder(value) && 'value' in network.hostName.read(value.replaceAll('{host}', 'localhost'));
}

export function isAddressTemplate(value: string): boolean {
  return (
    hasOnlyHostPlaceholder(value) && /^[a-z0-9._+-]{1,64}@[^@\s]{1,253}$/i.test(value.replaceAll('{host}', 'localhost'))
  );
}

/** SPF macros such as %{i} are no placeholders of ours (RFC 7208 §7.2). */
export function hasOnlyHostPlaceholder(value: string): boolean {
  return !/[{}]/.test(value.replaceAll(/%\{[^{}]*\}/g, '').replaceAll('{host}', ''));
}
