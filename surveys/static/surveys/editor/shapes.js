/* The types of the data that the editor's modules share, only for the type checker: no page loads this file. Because it
   has no imports and exports, every module knows its types. A block has the fields of the interface. */

/**
 * @typedef {object} Block
 * @property {string} key  follows the block before it has an id
 * @property {number | null} id
 * @property {string} type
 * @property {string} section  intro, main or outro
 * @property {string | null} name
 * @property {string} prompt
 * @property {string | null} [description]
 * @property {string | null} [group]
 * @property {BlockOption[] | null} options
 * @property {string | null} [answer_style]
 * @property {string | null} [color]
 * @property {string | null} [image_url]
 * @property {string | null} [image_alt]
 * @property {string | null} [thumbnail_url]
 * @property {string | null} [thumbnail_alt]
 * @property {string | null} [video_url]
 * @property {number | null} [min]
 * @property {number | null} [max]
 * @property {boolean | null} [whole]
 * @property {string | null} [format]
 * @property {number | null} [rank_top_n]
 * @property {number | null} [follow_ups]
 * @property {boolean | null} [required]
 * @property {boolean | null} [randomize_options]
 * @property {string | null} [precondition]
 * @property {Condition | null} [show_when]
 * @property {Condition | null} [hide_when]
 * @property {string | null} [action_kind]
 * @property {Record<string, any> | null} [action_config]
 * @property {number[] | null} [correct_answer_ids]
 * @property {number | null} [correct_answer_index]
 * @property {number[] | null} [correct_answer_indexes]
 * @property {string | null} [when_correct]
 * @property {string | null} [when_incorrect]
 * @property {Record<string, string | null> | null} [scale]
 * @property {string | null} [calculated_formula]
 * @property {{ after?: string, pause?: number | null, label?: string | null } | null} [continue]
 * @property {number} [position]
 */

/** A block as the server or a file has it: it may have no key yet.
 *  @typedef {Omit<Block, "key"> & { key?: string }} StoredBlock */

/**
 * @typedef {object} BlockOption
 * @property {string} key
 * @property {string} value
 * @property {number | null} [id]
 * @property {string | null} [label]
 * @property {string | null} [emoji]
 * @property {Record<string, number> | null} [score_values]
 * @property {string | null} [anchor_position]
 * @property {boolean | null} [is_exclusive]
 * @property {boolean | null} [is_other]
 * @property {string | null} [image_url]
 * @property {string | null} [image_alt]
 * @property {number} [display_order]
 */

/** A group of conditions, or one comparison.
 * @typedef {object} Condition
 * @property {Condition[]} [all]
 * @property {Condition[]} [any]
 * @property {string} [block]
 * @property {string} [variable]
 * @property {string} [op]
 * @property {any} [value]
 */

/** A fault or a warning as the server finds it: `field` begins with the place of a block.
 * @typedef {{ field?: string, code?: string, message: string, column?: number | null }} Finding
 */

/** The same in the editor: `key` is that of its block, `path` the field from there.
 * @typedef {Finding & { kind: string, key: string | null, path: string }} Issue
 */

/** What the server has found out about a block.
 *  @typedef {{ key: string, name?: string, is_reachable?: boolean }} BlockMark */
/** @typedef {{ violations: Finding[], warnings: Finding[], blocks: BlockMark[], names: string[] }} Check */
/** A word of logic, formulas or texts.
 *  @typedef {{ name: string, meaning: string, called?: string, kind?: string, choices?: string[] }} Term */
/** @typedef {{ op: string, words: string, takes: string }} Operator */

/**
 * @typedef {object} Vocabulary
 * @property {Record<string, string>} [kinds]  the kind of answer of each type
 * @property {Record<string, Operator[]>} [operators]  by the kind of answer
 * @property {Term[]} [variables]
 * @property {Term[]} [readings]  what an analysis has read, for conditions that select responses
 * @property {(Term & { values: string[] })[]} [fields]
 * @property {Term[]} [tokens]
 * @property {Term[]} [xp_tokens]
 * @property {{ name: string, key?: string }[]} [buckets]
 * @property {{ number?: number, id?: number, name: string }[]} [achievements]
 * @property {Record<string, number>} [limits]
 * @property {string} [acknowledged]
 * @property {boolean} [asks_further]  whether a model asks further questions about answers here
 * @property {string} [further_help]  what these are and cost
 * @property {string} [tier]
 */

/** A thing that a row of logic may compare.
 * @typedef {object} Subject
 * @property {string} id
 * @property {string} name
 * @property {string} form  as expressions write it
 * @property {string} [called]
 * @property {string | undefined} kind  choice, choices, number, text or any
 * @property {[string | number, string][]} choices  all values that answers can have, each with its name
 * @property {[string | number, string][]} suggestions
 * @property {string} says
 * @property {Block} [block]
 * @property {string} [type]
 * @property {number} [at]  the place of the block, from 0
 * @property {boolean} [isNamed]
 * @property {boolean} [isVariable]
 * @property {boolean} [isField]
 * @property {boolean} [isMissing]
 */

/** A name that a text may have in brackets.
 *  @typedef {{ name: string, says: string, group: string, called?: string | null }} Token */

/** The state that the page embeds when the editor opens.
 * @typedef {object} PageState
 * @property {{ blocks: StoredBlock[] }} script
 * @property {number} revision
 * @property {string | null} [fingerprint]
 * @property {Draft | null} [draft]
 * @property {Partial<Check>} [check]
 * @property {Record<string, any>} [project]
 * @property {Vocabulary} [vocabulary]
 * @property {Record<string, string>} [urls]
 * @property {number[]} [answered]
 * @property {number} [archived]
 * @property {boolean} [may_edit]
 * @property {boolean} [is_live]
 * @property {boolean} [has_model]
 * @property {string} [user_id]
 */

/** The unsaved changes.
 * @typedef {object} Draft
 * @property {StoredBlock[]} blocks
 * @property {number} revision
 * @property {number} version
 * @property {string} saved_at
 * @property {boolean} [is_behind]  whether the script has been saved since
 */
/** The ids of a script. @typedef {{ blocks: Set<number | null>, options: Set<number | null | undefined> }} Known */
/** The script that somebody else has saved meanwhile.
 * @typedef {object} CollisionState
 * @property {{ blocks: StoredBlock[] } | null} base
 * @property {{ blocks: StoredBlock[] }} theirs
 * @property {number} revision
 * @property {string | null} [changed_by]
 * @property {string | null} [changed_at]
 */

/** @typedef {ReturnType<typeof import("./store.js").createStore>} Store */
/** @typedef {ReturnType<typeof import("./keeping.js").createKeeping>} Keeping */
/** A request to the server. @typedef {ReturnType<typeof import("./api.js").createRequest>} Send */
/** Announces a text to screen readers. @typedef {(words: string) => void} Announce */

/** A control that typing or choosing goes into.
 *  @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Control */

/** A field of the form, known by its path.
 * @typedef {object} Field
 * @property {string} path
 * @property {(block: Block) => void} update
 * @property {() => boolean} focus
 * @property {() => void} [showIssues]
 * @property {HTMLElement} [element]
 */

/** What the fields of one form share. @typedef {ReturnType<typeof import("./field.js").context>} FormContext */

/** The options of a field.
 * @typedef {object} FieldOptions
 * @property {string} label
 * @property {string} [contract]  its name in the interface
 * @property {string | null} [help]
 * @property {boolean} [hidden]  whether the label is for screen readers alone
 * @property {Node | null} [extra]
 */
