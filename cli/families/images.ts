import type { AnswerOf } from '../client/index.ts';
import { bytesInWords } from './bytes-in-words.ts';
import {
  actionOf,
  detailOf,
  listOf,
  nameIn,
  wide,
  type Action,
  type Family,
  type Field,
  type ItemOf,
  type Key,
} from './family.ts';

const IMAGE: Key = { word: 'image', says: 'the id of the image' };
const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e60';

type Image = ItemOf<'listImages'> | AnswerOf<'getImage'>;

const id: Field<Image> = { name: 'id', label: 'Id', kind: 'id' };
const url: Field<Image> = { name: 'url', label: 'Address', kind: 'long' };
const type: Field<Image> = { name: 'content_type', label: 'Type' };
const size: Field<Image> = {
  name: 'bytes',
  label: 'Size',
  kind: 'number',
  words: ({ bytes }) => bytesInWords(bytes),
};
const width: Field<Image> = { name: 'width', label: 'Width', kind: 'number' };
const height: Field<Image> = { name: 'height', label: 'Height', kind: 'number' };
const created: Field<Image> = { name: 'created_at', label: 'Created', kind: 'time' };

const upload: Action = {
  operation: 'createImage',
  verb: 'upload',
  key: 'c',
  summary: 'upload pictures for mail',
  description:
    'Uploads each file, a PNG, JPEG, GIF or WebP of at most 5 MB unless the server says otherwise, and shows the address to put into HTML. What the team has already keeps its address.',
  example: 'images upload logo.png header.jpg',
  path: {},
  flags: {
    file: {
      value: '<file>',
      says: 'a picture',
      isWord: true,
      isFile: true,
      isVariadic: true,
      isRequired: true,
    },
  },
};

export const images = {
  command: 'images',
  summary: 'pictures for mail, and the addresses to show them by',
  noun: 'an image',
  list: listOf('listImages', {
    summary: 'list images, newest first',
    example: 'images list',
    columns: [id, type, size, width, height, created, ...wide(url)],
    empty: 'There are no images yet.',
  }),
  get: detailOf('getImage', {
    summary: 'show the address and the size of an image',
    example: `images get ${ID}`,
    path: { image_id: IMAGE },
    fields: [id, url, type, size, width, height, created],
  }),
  actions: [
    upload,
    actionOf('deleteImage', {
      verb: 'delete',
      key: 'd',
      summary: 'delete an image, so that it is shown nowhere any more',
      description:
        'An image that a broadcast shows which was sent or is on its way is deleted with --force alone; templates and other mail are not looked at.',
      example: `images delete ${ID}`,
      path: { image_id: IMAGE },
      flags: {
        force: {
          says: 'although broadcasts that were sent or are on their way show it',
          isBoolean: true,
          isQuery: true,
        },
      },
      done: 'Deleted',
      destroys: {
        says: 'delete the image; mail that shows it has a gap from then on',
        name: nameIn('getImage', ({ url: address }) => address.split('/').at(-1) ?? address),
      },
    }),
  ],
} satisfies Family;
