import type { Command } from 'commander';
import { act, addPaging, collect, declareCommand } from '../declare.ts';

export function addTemplateCommands(program: Command): void {
  const templates = program.command('templates').summary('write and publish messages that are sent by name');
  const list = declareCommand(templates, 'list', {
    summary: 'list templates, newest first',
    example: 'templates list',
  });
  addPaging(list).action(
    act(async (session, _, options) => (await import('./list.ts')).listTemplates(session, options)),
  );
  declareCommand(templates, 'get', {
    summary: 'show a template as it was last written',
    example: 'templates get order-confirmation',
  })
    .argument('<template>', 'its id or alias')
    .action(act(async (session, [template = '']) => (await import('./get.ts')).getTemplate(session, template)));
  declareCreate(templates);
  declareUpdate(templates);
  declareCommand(templates, 'publish', {
    summary: 'let sends use a template as it is now',
    example: 'templates publish order-confirmation',
  })
    .argument('<template>', 'its id or alias')
    .action(act(async (session, [template = '']) => (await import('./publish.ts')).publishTemplate(session, template)));
  declareCommand(templates, 'duplicate', {
    summary: 'copy a template as a draft',
    description: 'Copies a template, as it was last written, into a draft without an alias.',
    example: 'templates duplicate order-confirmation',
  })
    .argument('<template>', 'its id or alias')
    .action(
      act(async (session, [template = '']) => (await import('./duplicate.ts')).duplicateTemplate(session, template)),
    );
  declareCommand(templates, 'delete', {
    summary: 'delete a template and its versions',
    example: 'templates delete order-confirmation',
  })
    .argument('<template>', 'its id or alias')
    .action(act(async (session, [template = '']) => (await import('./delete.ts')).deleteTemplate(session, template)));
}

function declareCreate(templates: Command): void {
  const create = declareCommand(templates, 'create', {
    summary: 'write a template',
    description:
      'Writes a template as a draft; publish it before sending with it. {{{KEY}}} or {{{KEY|default}}} in HTML, text and subject is where a value goes.',
    example:
      "templates create 'Order confirmation' --html '<p>{{{PRODUCT}}}</p>' --variable 'PRODUCT=your item' --alias order-confirmation",
  }).argument('<name>', 'what you call it; recipients never see it');
  addContent(create).action(
    act(async (session, [name = ''], options) => (await import('./create.ts')).createTemplate(session, name, options)),
  );
}

function declareUpdate(templates: Command): void {
  const update = declareCommand(templates, 'update', {
    summary: 'change a template',
    description:
      'Changes what is named and leaves the rest as it is. Changed content is a draft until it is published; name and alias change at once.',
    example: "templates update order-confirmation --subject 'Your order of {{{PRODUCT}}}'",
  }).argument('<template>', 'its id or alias');
  addContent(update)
    .option('--name <name>', 'what you call it')
    .option('--clear <field>', 'take away alias, from, subject, reply_to, text or variables; repeatable', collect)
    .action(
      act(async (session, [template = ''], options) =>
        (await import('./update.ts')).updateTemplate(session, template, options),
      ),
    );
}

function addContent(command: Command): Command {
  return command
    .option('--html <html>', 'the HTML')
    .option('--html-file <file>', 'a file with the HTML, - for standard input')
    .option('--text <text>', 'the plain text')
    .option('--text-file <file>', 'a file with the plain text, - for standard input')
    .option('--subject <text>', 'the subject of sends that name none')
    .option('--from <address>', 'the sender of sends that name none')
    .option('--reply-to <address>', 'where answers go; repeatable', collect)
    .option('--alias <alias>', 'a name to send and read it by')
    .option(
      '--variable <declaration>',
      'KEY, KEY=fallback, KEY:number or KEY:number=25; repeatable, and all together replace those before',
      collect,
    );
}
