import { verifySshSignature } from '../../src/protocol/ssh-signature.ts';
import { OperatorFault } from '../explain.ts';

/** The namespace of signatures of a manifest: they count for nothing else. install.sh names it, too. */
export const NAMESPACE = 'rasket-release';

export type FileKind = 'executable' | 'debian' | 'source' | 'sbom' | 'changelog' | 'installer';

export interface ReleasedFile {
  name: string;
  kind: FileKind;
  /** The name that Node.js has for the processor, such as `x64`; null if the file is for all. */
  architecture: string | null;
  size: number;
  sha256: string;
}

/** The content of `manifest.json`, which lists the files of a release and is signed. */
export interface Manifest {
  product: 'rasket';
  /** With the commit, such as `0.1.0+ee850824`. */
  version: string;
  commit: string;
  date: string;
  files: readonly ReleasedFile[];
}

export interface SignedManifest {
  content: Buffer;
  signature: string;
  publicKey: string;
}

/** Throws unless the manifest is signed with the key; returns it with the fingerprint of the key. */
export function openManifest(signed: SignedManifest, where: string): { manifest: Manifest; fingerprint: string } {
  const verification = verifySshSignature({ ...signed, namespace: NAMESPACE });
  if (!verification.isGood) throw new OperatorFault(`${where} is not trusted: ${verification.fault}`, 'refused');
  const manifest = JSON.parse(signed.content.toString('utf8')) as Manifest;
  if (manifest.product !== 'rasket') throw new OperatorFault(`${where} is not the manifest of a release`, 'refused');
  return { manifest, fingerprint: verification.fingerprint };
}

export function findFile({ files, version }: Manifest, kind: FileKind, architecture: string | null): ReleasedFile {
  const found = files.find((file) => file.kind === kind && file.architecture === architecture);
  if (found) return found;
  const whatFor = architecture === null ? '' : ` for ${architecture}`;
  throw new OperatorFault(`the release ${version} has no file of the kind ${kind}${whatFor}`, 'notFound');
}
