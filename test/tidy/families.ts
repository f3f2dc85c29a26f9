import fs from 'node:fs';
import path from 'node:path';
import { entriesOf, type Problem } from './tree.ts';

type Tree = {
  folder: string;
  /** The family an entry of the folder belongs to, or undefined where the entry is shared by all. */
  familyOf: (entry: string) => string | undefined;
  /** Families of the contract that have no place here, and why; a sentence where any of them may have none. */
  without: Record<string, string> | string;
  /** Entries that are no family of the contract, and why. */
  besides: Record<string, string>;
};

const aboutTheServer = 'it describes the server itself and keeps no state';

const folderName = (entry: string): string | undefined => (entry.includes('.') ? undefined : entry);
const fileName = (entry: string): string | undefined => {
  const stem = /^([a-z0-9-]+)\.tsx?$/.exec(entry)?.[1];
  return stem === 'index' ? undefined : stem;
};

export const trees: Tree[] = [
  {
    folder: 'src/resources',
    familyOf: folderName,
    without: {
      system: aboutTheServer,
      mcp: 'it carries the operations of the other families, in http/mcp',
      playground: 'what was caught belongs to flow/mail/capture',
      queue: 'what waits belongs to flow/mail/queue, and an operator’s word about it to flow/mail/queue-admin',
    },
    besides: {
      access: 'who may do what: asked by every family, owned by none',
      'automation-runs':
        'which contact is where in an automation: events begin them and contacts end them, and know no automation',
      'broadcast-recipients': 'whom broadcasts went to: the emails write it too, and know no broadcast',
      'stream-rates':
        'how much of a team’s mail bounces or is reported: settlements add to it; holds and findings read it',
      'shared-bodies': 'the html and text that the emails of a broadcast or of one request have in common',
      contents: 'what emails sent and received consist of beside their rows, and the bytes of images',
      users: 'the people themselves: sessions and teams know them, and no operation is of them alone',
      'sso-rows': 'what is known of single sign-on: sessions, members and teams ask it, and know none of its rules',
      'session-rows':
        'who is signed in, and in which team: sessions begin and end there, and so does what members lose',
      'inbox-rows':
        'inboxes, threads and drafts as rows: receiving, sending and removals write them, and know none of their rules',
      threads:
        'which conversation of an inbox a message belongs to: rules without rows, for what receives and what sends',
      operators: 'who runs the installation: made and ended on its machine alone, so that no operation does it',
      moves: 'the whole installation in another database, which its operator asks for on the machine',
      backups: 'copies of the whole installation, which its operator and the service make on the machine',
      instance: 'switches of the whole installation, which its operator moves on the machine',
    },
  },
  {
    folder: 'src/operations',
    familyOf: fileName,
    without: { mcp: 'it carries the operations of the other families, in http/mcp' },
    besides: { operation: 'the types that every family’s operations have' },
  },
  {
    folder: 'cli/families',
    familyOf: fileName,
    without: {
      mcp: 'it carries the operations of the other families, in http/mcp',
      playground: '`rasket playground` works on the data folder of a development server',
      'device-logins': 'how `rasket login` signs a person in, and what that person does in a browser',
      sso: 'owners set it up, signed in; on the machine rasket teams sso-off ends its enforcing',
      mfa: '`rasket account mfa` signs its person in first, which no other family does',
      accounts: 'whoever asks for an account has no token yet; the operator’s part of it is rasket users',
    },
    besides: {
      family: 'what a family has to say about itself, for all of them',
      flag: 'what a word or an option of a command has to say about itself, for all of them',
      'broadcast-reports': 'what came of a broadcast, in lists of their own beside their family’s',
      'broadcast-words': 'what is said of a broadcast in sentences, by its family, --watch and console alike',
      'automation-words': 'what is drawn and said of an automation and its runs, by command and console alike',
      'inbox-emails': 'the emails of a thread, in lists of their own beside their family’s',
      named: 'how things of every family are named at the command line',
      'inbox-words': 'what is said of threads and of what is written in an inbox, by its families alike',
      'field-value': 'what a declared field shows of an item, for all of them',
      'bytes-in-words': 'how a size is read, of whatever family',
    },
  },
  {
    folder: 'cli/commands',
    familyOf: folderName,
    without: 'a family that is said completely in cli/families has no command of its own',
    besides: {},
  },
  {
    folder: 'test/api',
    familyOf: folderName,
    without: {},
    besides: {
      conventions: 'what every operation has in common',
    },
  },
];

/** A family is a file of the contract that holds operations; the same word stands in every tree. */
export function contractFamilies(root: string): string[] {
  return (entriesOf(root, 'src/contract') ?? [])
    .filter((name) => name.endsWith('.yaml') && name !== 'openapi.yaml')
    .filter((name) => /^\s+operationId:/m.test(fs.readFileSync(path.join(root, 'src/contract', name), 'utf8')))
    .map((name) => name.replace(/\.yaml$/, ''));
}

export function findFamilyGaps(root: string): Problem[] {
  const families = contractFamilies(root);
  return trees.flatMap(({ folder, familyOf, without, besides }) => {
    const entries = entriesOf(root, folder);
    // A tree that does not exist at all has not been begun; one that exists is complete.
    if (!entries) return [];
    const present = new Set(entries.map(familyOf).filter((name) => name !== undefined));
    const missing = families
      .filter((family) => !present.has(family) && typeof without !== 'string' && !(family in without))
      .map((family) => ({
        at: `${folder}/${family}`,
        says: `is missing: src/contract/${family}.yaml has operations.`,
      }));
    const strays = [...present]
      .filter((name) => !families.includes(name) && !(name in besides))
      .map((name) => ({
        at: `${folder}/${name}`,
        says: `is no family of the contract (${families.join(', ')}). Use the contract's word, or say in test/tidy/families.ts why it stands alone.`,
      }));
    return [...missing, ...strays];
  });
}
