import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { SlowestFiles } from './test/rig/slowest-files.ts';
import { SlowestFirst } from './test/rig/slowest-first.ts';
import { StoresOnPostgres } from './test/rig/stores-on-postgres.ts';

const major = Number(process.versions.node.split('.')[0]);
if (major !== 24) {
  throw new Error(
    `The tests run under the Node.js 24 that comes with the dependencies, and this is ${process.version} (${process.execPath}). ` +
      'Start them with `npm test`, `npx vitest` or `node_modules/.bin/node node_modules/vitest/vitest.mjs`: ' +
      'the native SQLite driver crashes on older versions.',
  );
}

// Folders of test/ that need no database of ours. Every other folder of test/ runs once per database,
// so that a new folder is never left out by accident.
const plain = ['contract', 'config', 'install', 'protocol', 'rig', 'vectors'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);
// Files of the other folders that start no database of ours either. None of them could: only the projects with a database
// have one to give to a scene.
const withoutDatabase = [
  'test/sdk/samples.test.ts',
  'test/flow/bill-month.test.ts',
  'test/flow/deliver-{back-off,dot,envelope,model,pool,relay,resolver,route,shares,simulator,slots,tls}.test.ts',
  'test/platform/{guarded-fetch,inspector,object-blobs,object-store,post-pool,resolver-records}.test.ts',
  'test/cli/{advice,automations-watch,broadcasts-watch,commands,config-check,confirm,dns,domain-claims,events-file,exit-codes,explain,families,kept-keys,lists,names,one-line,output,profiles,qr-lines,shells,typed-words,webhook-health,webhooks-replay}.test.ts',
];
// What would be the same whatever the database behind it: what is said at a terminal; what is refused before a statement runs;
// bytes on HTTP, SMTP and DNS. A file may stand here when files of onBoth run the statements it causes on both.
// Values that a dialect could refuse, orders, races and fairness stay on both.
const onSqliteAlone = [
  'test/cli/{audience-files,development-server,findings,first-email,images,inbox,mfa,next-lines,operators,people,seed,sessions,setup,sso,starts,storage,systemd,tail,teams,testing-docs,users,webhooks-listen}.test.ts',
  'test/clients/*.test.ts',
  'test/console/*.test.ts',
  'test/pages/*.test.ts',
  'test/api/accounts/enumeration.test.ts',
  'test/api/ai/model-answers.test.ts',
  'test/api/conventions/{bodies,bodies-in-hand,costly-work,credentials,http-by-hand,parameters,paths-and-methods}.test.ts',
  'test/api/conventions/{last-answers,order-of-faults,rate-limit,reach,roles,slow-uploads,unread-answers}.test.ts',
  'test/api/attachments/{download-attachment,submitted-attachments}.test.ts',
  'test/api/automations/graphs.test.ts',
  'test/api/broadcasts/broadcast-preview.test.ts',
  'test/api/contact-imports/unfit-files.test.ts',
  'test/api/contacts/preference-pages.test.ts',
  'test/api/dns/{cloudflare,configure-domain,key-file,zone-at-a-terminal}.test.ts',
  'test/api/domain-claims/verify-claim.test.ts',
  'test/api/domains/{diagnosis,diagnosis-settings,receiving,spf-includes,tracking-caa,verify-domain}.test.ts',
  'test/api/emails/{attachment-paths,header-injection,what-arrives}.test.ts',
  'test/api/metrics/metrics-parameters.test.ts',
  'test/api/oauth/oauth4webapi.test.ts',
  'test/api/shares/share-page.test.ts',
  'test/api/system/description.test.ts',
  'test/api/templates/send-with-template.test.ts',
  'test/api/webhooks/hostile-endpoints.test.ts',
  'test/fault/restart.test.ts',
  // On PostgreSQL nodes-fault does as much, and more.
  'test/fault/blob-store-kill.test.ts',
  'test/flow/{bulk-sender,egress,enforced-tls,large-mail,large-mail-memory,load,outcomes,refused-by-us,silent-names,simulator}.test.ts',
  'test/flow/{tracking-domains,webhooks,webhooks-answers}.test.ts',
  'test/sdk/{resend,webhooks}.test.ts',
  'test/smtp/{crowded-ports,delivery-notices,own-mail,require-tls,slow-clients,stopping,submission-dialogues,taken-port}.test.ts',
  'test/smtp/{submission-limits,submission-memory,submission-smuggling,submitted-rules}.test.ts',
  'test/smtp/receiving/{bounce-table,content-memory,costly-messages,forwarding,garbage-memory,large-message-memory}.test.ts',
  'test/smtp/receiving/{real-reports,relay-and-smuggling,screening,transcripts,two-installations}.test.ts',
];
const apart = ['tidy', 'driver', 'peers', 'package', 'browser', 'bench'].map((folder) => `test/${folder}/**`);
// What `npm test` runs on PostgreSQL as well: what a dialect can change (the database seam, claims, faults, races, models, paging,
// search, filters, query plans) and one file of each family. `StoresOnPostgres` fails the run when these files leave a function of
// a store out. The other files run on PostgreSQL as the project `pg-rest`, in `npm run test:all`.
const onBoth = [
  'test/platform/*.test.ts',
  'test/fault/{billing-kill,broadcast-busy,kill,late-commit,late-settle,nodes-fault,send-statement-faults,steps}.test.ts',
  'test/flow/{ab-subjects,accept-turns,ambiguous,automation-plans,automations,automations-deleted,automations-leases,automations-locks,automations-mail,automations-model,automations-reentry,automations-step-keys,automations-triggers,automations-turns,automations-upkeep,blob-store}.test.ts',
  'test/flow/{batch-bodies,broadcast-holds,broadcast-nodes,broadcast-readers,broadcast-upkeep,broadcasts,cancel-race,claim-plan,clock-steps,cron}.test.ts',
  'test/flow/{claims,fair-claims,falls-due,held-mail,interruptions,listen-nodes,local-hour,model,restored-copy}.test.ts',
  'test/flow/{queue-by-hand-races,rekey,remembered-nodes,shared-rate-nodes,woken-nodes,retention-model,retention,sweep,tracking,tracking-hosts,tracking-machines,webhook-retention,webhooks-failing}.test.ts',
  'test/flow/{development-profile,moved-away,playground-page,webhooks-nodes,webhooks-outbox}.test.ts',
  'test/cli/{backups-postgres,move}.test.ts',
  'test/api/accounts/{account-mail,invitation-sign-up,passwords,sign-up}.test.ts',
  'test/api/ai/ai.test.ts',
  'test/api/api-keys/list-api-keys.test.ts',
  'test/api/approvals/{approvals,approved-audience}.test.ts',
  'test/api/attachments/{list-attachments,where-contents-stand}.test.ts',
  'test/api/audit/audit.test.ts',
  'test/api/automations/automations.test.ts',
  'test/api/billing/*.test.ts',
  'test/api/broadcasts/{broadcast-leases,broadcast-report,broadcasts,local-time,send-broadcast}.test.ts',
  'test/api/certificates/*.test.ts',
  'test/api/contact-imports/contact-imports.test.ts',
  'test/api/contact-properties/contact-properties.test.ts',
  'test/api/custom-events/custom-events.test.ts',
  'test/api/device-logins/device-logins.test.ts',
  'test/api/contacts/{contact-activity,contacts,export-contacts,opt-outs-stay,search-contacts}.test.ts',
  'test/api/conventions/{existence-leak,id-end,limits-at-once,paging}.test.ts',
  'test/api/dns/{publish-by-itself,two-nodes}.test.ts',
  'test/api/domain-claims/{ended-claims,races}.test.ts',
  'test/api/domains/{rotate-dkim,sweep-domains}.test.ts',
  'test/api/emails/{batch,history,idempotency,idempotency-between-nodes,list-emails,quotas,schedule,search-emails,tag-filter}.test.ts',
  'test/api/findings/*.test.ts',
  'test/api/images/images.test.ts',
  'test/api/inbound-rules/inbound-rules.test.ts',
  'test/api/inboxes/inboxes.test.ts',
  'test/api/inbox-threads/*.test.ts',
  'test/api/inbox-drafts/*.test.ts',
  'test/api/invitations/invitations.test.ts',
  'test/api/members/members.test.ts',
  'test/api/mfa/*.test.ts',
  'test/api/logs/{read-logs,retention,search-logs}.test.ts',
  'test/api/metrics/{email-metrics,metrics-model}.test.ts',
  'test/api/oauth/{attacks,consent,grants,limits,oauth,operator-clients,people,register}.test.ts',
  'test/api/playground/*.test.ts',
  'test/api/queue/{queue,queued-email}.test.ts',
  'test/api/received-emails/{read-received,search-received}.test.ts',
  'test/api/segments/{filter-model,segments}.test.ts',
  'test/api/sessions/*.test.ts',
  'test/api/shares/{create-share,link-ends}.test.ts',
  'test/api/sso/*.test.ts',
  'test/api/suppressions/{search-suppressions,suppressed-mail,suppressions}.test.ts',
  'test/api/teams/{own-teams,team}.test.ts',
  'test/api/templates/publish-template.test.ts',
  'test/api/topics/{confirmation,topics}.test.ts',
  'test/api/usage/usage.test.ts',
  'test/api/webhooks/{endpoint-health,listen-webhooks,manage-webhooks,query-plans,replay,replay-between-nodes,trigger,webhook-events}.test.ts',
  'test/smtp/receiving/{account-mail,greylisting,return-traffic}.test.ts',
  'test/smtp/submitted-mail.test.ts',
];

// That each check can fail is proved with planted violations: once in the suite, not at every check.
const GUARDS = ['test/tidy/guards.test.ts', 'test/tidy/rules.test.ts'];

// The console and tables at a terminal show local times.
process.env['TZ'] = 'UTC';

// Compiled code outlives a run: every process that runs files would spend a second on compiling the same again.
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, '.cache/compile');

const globalSetup = ['test/rig/global-setup.ts'];
const perDatabase = { include: ['test/**/*.test.{ts,tsx}'], exclude: [...plain, ...withoutDatabase, ...apart] };

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than there are cores: a file waits for its database, its servers and its mail for a fifth of its time.
    maxWorkers: availableParallelism() + 1,
    // A process for each file would spend half of the suite on starting and importing.
    isolate: false,
    // Files run as Node.js runs the program itself: types are stripped, imports are what they are. Nothing here is mocked or
    // transformed, and Vite's own loader costs a tenth of the suite.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Long, since a busy machine is no failure; a test that hangs is found by any limit.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // `expect.poll`; what `vi.waitFor` is given stands in rig/patience.ts.
    expect: { poll: { timeout: 90_000 } },
    // A test that passes the second time is a defect that was seen and thrown away.
    retry: 0,
    setupFiles: ['test/rig/leaves-nothing.ts', 'test/rig/asserts-something.ts'],
    reporters: ['default', new SlowestFiles(), new StoresOnPostgres()],
    passWithNoTests: false,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{bin,src,cli,console,migrations}/**/*.test.{ts,tsx}', ...plain, ...withoutDatabase],
        },
      },
      {
        extends: true,
        test: { name: 'tidy', include: ['test/tidy/**/*.test.ts'], exclude: GUARDS },
      },
      { extends: true, test: { name: 'guards', include: GUARDS } },
      {
        extends: true,
        test: { name: 'sqlite', env: { RASKET_TEST_DB: 'better-sqlite3' }, globalSetup, ...perDatabase },
      },
      {
        extends: true,
        test: {
          name: 'pg',
          env: { RASKET_TEST_DB: 'pg' },
          globalSetup,
          setupFiles: ['test/rig/store-coverage.ts'],
          include: onBoth,
          exclude: [...perDatabase.exclude, ...onSqliteAlone],
        },
      },
      {
        extends: true,
        test: {
          name: 'pg-rest',
          // What repeats by RASKET_TEST_SCALE does so on SQLite, and in `pg` what a dialect can change.
          env: { RASKET_TEST_DB: 'pg', RASKET_TEST_SCALE: '1' },
          globalSetup,
          ...perDatabase,
          exclude: [...perDatabase.exclude, ...onSqliteAlone, ...onBoth],
        },
      },
      {
        extends: true,
        test: {
          name: 'sqlite3',
          env: { RASKET_TEST_DB: 'sqlite3' },
          globalSetup,
          include: ['test/driver/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'peers',
          env: { RASKET_TEST_DB: 'better-sqlite3' },
          globalSetup,
          include: ['test/{package,peers}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          env: { RASKET_TEST_DB: 'better-sqlite3' },
          globalSetup,
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 300_000,
        },
      },
    ],
  },
});
