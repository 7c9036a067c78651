#pragma once
// Shipped decoders that a job describes by its sizes.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "jobs/draft.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

/// Values by key, without "model.decoder.".
using DecoderValues = std::map<std::string, std::string, std::less<>>;

/// The decoder of a draft.
DecoderValues decoder_of(const JobDraft& draft);
/// The decoder of a model file; empty if it is of another family.
DecoderValues decoder_of(const config::Document& model);

/// A value, or the family's default, which may follow from other values; empty if there is none.
std::string value_or_default(const DecoderValues& decoder, std::string_view key);

/// Shipped decoders with the values and defaults of `wanted` in every key, but for those that a job decides
/// on: lengths, kernels of the attention, padding, and the vocabulary.
std::vector<std::string> same_models(const config::Catalogue& catalogue, const DecoderValues& wanted);

/// The vocabulary of a public tokenizer, by its name or path; empty if it is not known.
std::string vocabulary_of(std::string_view tokenizer);

/// The next multiple; 0 for a text that is no number.
long long padded(std::string_view vocabulary, long long multiple);

}  // namespace trainyard::jobs
