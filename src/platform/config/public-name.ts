import { variableName } from './keys.ts';
import type { Config, Source } from './settings.ts';

const KEY = 'instance.host';
const EXAMPLE = 'mail.example.com';

/** Names that do not exist on the public internet and never will (RFC 6761 §6, RFC 2606 §2). */
const NOWHERE = /(^|\.)(localhost|invalid|example)$/i;
/** Names that a closed network may give; without a dot there is no domain (RFC 6762 §3, RFC 8375 §3). */
const INSIDE = /^[^.]+$|\.(local|internal|home\.arpa)$/i;

export interface Standing {
  readonly source: Source;
  readonly file?: string | undefined;
}

/**
 * Why a server cannot send mail under the name it is given, with the line to change. Mail that is kept on this machine needs
 * no name, and where mail may go to private addresses, a name of that network may be right.
 */
export function findNameFault(config: Config, { source, file }: Standing): string | undefined {
  const { host } = config.instance;
  const isClosed = config.network.mail_allow_private.length > 0;
  if (config.delivery.capture || !(NOWHERE.test(host) || (INSIDE.test(host) && !isClosed))) return undefined;
  const found = `${KEY} is "${host}"${source === 'default' ? ', the default' : ''}, which no mail server out there can look up`;
  const why = 'mail from it would be refused, and the SPF and MX records of every domain would name it';
  return `${found}: ${why}. Give this machine's public name, such as ${EXAMPLE}: ${lineToWrite(source, file)}`;
}

function lineToWrite(source: Source, file: string | undefined): string {
  if (source === 'env') return `${variableName(KEY)}=${EXAMPLE} in the environment`;
  const line = `host = "${EXAMPLE}" under [instance] in`;
  if (file !== undefined) return `${line} ${file}`;
  return `${line} a file named with --config, or ${variableName(KEY)}=${EXAMPLE} in the environment`;
}
